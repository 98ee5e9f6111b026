"""Each alert fires in the real Prometheus when its fault is provoked in real runs.

Two things are shortened, since they would take an hour: samples are handed over as if their runs
had been spread over the last five minutes (or over an hour that is past, for the alert about
silence), and a condition has to hold for a second instead of its minutes. Rules are otherwise as
they are; how long each has to hold is tried by promtool (`dashboards/rules/tests`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import pytest

from dashboards import alert_rules, recording_rules
from dashboards.expressions import RULES
from tests.backends.faults import FAULTS, healthy, work
from tests.backends.past import Process
from tests.backends.stack import Prometheus
from tests.backends.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dashboards import Rule

_TIMES: Final = 8  # a fault happens
_APART: Final = 40.0  # seconds
_ABSENT: Final = "LoviaTelemetryAbsent"
_SPOKE: Final = range(3_660, 1_800, -60)  # seconds ago; nothing since
_QUIET: Final = "healthy"


def _hurried(folder: Path) -> tuple[Path, ...]:
    """Return copies of the rules that are evaluated every second, and hold after one."""
    files = []
    for name in ("recording.yml", "alerts.yml"):
        text = (RULES / name).read_text(encoding="utf-8")
        text = re.sub(r"^( +)for: \w+$", r"\1for: 1s", text, flags=re.MULTILINE)
        text = re.sub(r"^( +)interval: \w+$", r"\1interval: 1s", text, flags=re.MULTILINE)
        files.append(folder / name)
        files[-1].write_text(text, encoding="utf-8")
    return tuple(files)


@pytest.fixture(scope="module")
def alerting(
    _built: None, tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None
) -> Iterator[Prometheus]:
    """Prometheus, told of one service for each fault, and of one in which all is well."""
    folder = tmp_path_factory.mktemp("alerts")
    prometheus = Prometheus(folder / "prometheus", rules=_hurried(folder))
    with prometheus.server():
        silent = Process(_ABSENT)
        with silent.working():
            work(healthy, folder / _ABSENT)
        for ago in _SPOKE:
            silent.report(prometheus, ago)
        processes = {name: Process(name) for name in (*FAULTS, _QUIET)}
        for number in range(_TIMES):
            for name, process in processes.items():
                with process.working():
                    work(FAULTS.get(name, healthy), folder / f"{name}-{number}")
                process.report(prometheus, (_TIMES - 1 - number) * _APART)
        yield prometheus


def _firing(prometheus: Prometheus) -> dict[str, set[str]]:
    """Return the alerts that fire, by service."""
    found: dict[str, set[str]] = defaultdict(set)
    for alert in prometheus.alerts():
        if alert["state"] == "firing":
            found[alert["labels"]["job"]].add(alert["labels"]["alertname"])
    return found


def _complete(firing: dict[str, set[str]]) -> bool:
    """Say whether every alert fires for its service."""
    return all(rule.name in firing[rule.name] for rule in alert_rules())


def test_rules_load(alerting: Prometheus) -> None:
    """Prometheus has evaluated each rule, and finds no fault with any."""

    def rules() -> list[dict[str, Any]]:
        return [rule for group in alerting.rule_groups() for rule in group["rules"]]

    found = eventually(rules, lambda rules: all(rule["health"] != "unknown" for rule in rules))
    assert {rule["health"] for rule in found} == {"ok"}
    named = {rule.name for rule in (*recording_rules(), *alert_rules())}
    assert {rule["name"] for rule in found} == named


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule.name)
def test_an_alert_fires(rule: Rule, alerting: Prometheus) -> None:
    """It fires for the service in which its fault was provoked."""
    eventually(lambda: _firing(alerting), lambda firing: rule.name in firing[rule.name])


def test_nothing_fires_where_all_is_well(alerting: Prometheus) -> None:
    """The healthy service has telemetry, was looked at with the others, and raised nothing."""
    assert alerting.values(f'count(lovia_compaction_duration_seconds_count{{job="{_QUIET}"}})')
    firing = eventually(lambda: _firing(alerting), _complete)
    assert firing[_QUIET] == set()


def test_every_alert_has_a_fault() -> None:
    """No alert is forgotten here."""
    assert {*FAULTS, _ABSENT} == {rule.name for rule in alert_rules()}


def test_texts_of_alerts_are_filled_in(alerting: Prometheus) -> None:
    """No alert shows a label without a value, or a template that could not be read."""
    eventually(lambda: _firing(alerting), _complete)
    for alert in alerting.alerts():
        summary = alert["annotations"]["summary"]
        assert "error" not in summary, summary
        assert "<no value>" not in summary, summary
        assert not re.search(r"(^|\s)(of|to|in|Stage)\s{2,}", summary), summary
