"""Recording rules and alerts, tried by promtool, each with a runbook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dashboards import alert_rules, recording_rules
from dashboards.expressions import RULES
from tests.dashboards.promtool import promtool
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

    from dashboards import Rule
    from tests.dashboards.promtool import Promtool

__all__ = ["promtool"]

CASES = sorted((RULES / "tests").glob("*.yml"))
RUNBOOK = REPO / "docs" / "operating.md"


def test_promtool_accepts_the_rules(promtool: Promtool) -> None:
    """The rule files are in form."""
    promtool.run("check", "rules", "recording.yml", "alerts.yml", cwd=RULES)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_rules_do_as_their_cases_say(file: Path, promtool: Promtool) -> None:
    """Each case gives the numbers and fires the alerts that it says, and no others."""
    promtool.run("test", "rules", file.name, cwd=file.parent)


def _samples(name: str) -> list[dict[str, Any]]:
    """Return the samples that cases expect of a series or of an alert."""
    return [
        sample
        for file in CASES
        for case in yaml.safe_load(file.read_text("utf-8"))["tests"]
        for asked in case["promql_expr_test"]
        for sample in asked.get("exp_samples", ())
        if re.search(rf'(^|alertname="){re.escape(name)}[{{"]', sample["labels"])
    ]


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule.name)
def test_every_alert_has_a_case_in_which_it_fires(rule: Rule) -> None:
    """Each alert fires in at least one case; that it stays silent in others is said there too."""
    assert _samples(rule.name)


def test_every_case_says_all_that_fires() -> None:
    """Cases look at all alerts at once, so that each is also one in which the others are silent."""
    asked = [
        expected["expr"]
        for file in CASES
        for case in yaml.safe_load(file.read_text("utf-8"))["tests"]
        for expected in case["promql_expr_test"]
        if "ALERTS{" in expected["expr"]
    ]
    assert all(re.search(r'ALERTS{alertstate="firing"}', expr) for expr in asked)


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule.name)
def test_an_alert_says_what_is_wrong_and_where_to_read_on(rule: Rule) -> None:
    """Each has a severity, a summary, a description and a link to its own runbook."""
    assert rule.labels["severity"] in {"critical", "warning", "info"}
    assert set(rule.annotations) == {"summary", "description", "runbook_url"}
    assert rule.annotations["runbook_url"] == f"docs/operating.md#{rule.name.lower()}"


def test_alerts_and_runbooks_match() -> None:
    """Each alert has a section in the runbook, and each section an alert, in the same order."""
    sections = re.findall(r"^### (Lovia\w+)$", RUNBOOK.read_text("utf-8"), re.MULTILINE)
    assert sections == [rule.name for rule in alert_rules()]


def test_recorded_names_say_what_they_are() -> None:
    """A recorded series is called level:metric:operations, with a metric's name in the middle."""
    for rule in recording_rules():
        level, metric, operation = rule.name.split(":")
        assert set(level.split("_")) <= {"agent", "model", "outcome", "le"}
        assert metric.startswith("lovia_")
        assert operation in {"rate5m", "p95"}
        if "[5m]" in rule.expr:
            assert operation == "rate5m"


def test_no_recorded_series_goes_unused() -> None:
    """Each recorded series is what an alert, another rule, or the page on operating looks at."""
    read = [rule.expr for rule in (*recording_rules(), *alert_rules())]
    text = " ".join([*read, RUNBOOK.read_text("utf-8")])
    assert [rule.name for rule in recording_rules() if rule.name not in text] == []
