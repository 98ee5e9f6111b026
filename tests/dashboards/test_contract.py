"""Dashboards and rules ask only for what is emitted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import promql_parser
import pytest

from dashboards import alert_rules, expressions, naming, recording_rules
from dashboards.expressions import dashboards, filled, panels
from lovia_otel.metrics import METRICS
from tests.dashboards.promql_labels import Reader, UnknownError

if TYPE_CHECKING:
    from dashboards import Expression, Rule
    from tests.dashboards.emitted import Emitted

_EXPRESSIONS = expressions()
_RULES = [*recording_rules(), *alert_rules()]


def _reader(emitted: Emitted) -> Reader:
    """Return a reader that also knows what the rules record, in the order they are evaluated."""
    recorded: dict[str, frozenset[str]] = {}
    reader = Reader(emitted, recorded)
    for rule in recording_rules():
        recorded[rule.name] = reader.labels(rule.expr)
    return reader


def _name(expression: Expression) -> str:
    return f"{expression.dashboard}: {expression.panel}"


@pytest.fixture
def reader(emitted: Emitted) -> Reader:
    """Return a reader of expressions against what was emitted and recorded."""
    return _reader(emitted)


def test_the_fleet_emits_every_metric(emitted: Emitted) -> None:
    """Each declared metric was recorded by a real run, so that the tests below mean something."""
    assert {name for metric in METRICS for name in naming.series(metric)} == set(emitted.series)


@pytest.mark.parametrize("expression", _EXPRESSIONS, ids=_name)
def test_a_panel_asks_for_what_exists(expression: Expression, reader: Reader) -> None:
    """Every metric, label and value in a panel's query exists in what real runs emit."""
    reader.labels(expression.expr)


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule.name)
def test_a_rule_asks_for_what_exists(rule: Rule, reader: Reader) -> None:
    """The same holds for rules, which may also ask for what other rules record."""
    reader.labels(rule.expr)


@pytest.mark.parametrize("rule", alert_rules(), ids=lambda rule: rule.name)
def test_an_alert_tells_of_labels_that_it_has(rule: Rule, reader: Reader) -> None:
    """Each label that an alert's texts quote is one of its result."""
    texts = " ".join(rule.annotations.values())
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= reader.labels(rule.expr)


def _legends() -> list[Any]:
    return [
        pytest.param(
            filled(target["expr"]),
            target["legendFormat"],
            id=f"{dashboard['title']}: {panel['title']}",
        )
        for dashboard in dashboards()
        for panel in panels(dashboard)
        for target in panel["targets"]
        if "{{" in target.get("legendFormat", "")
    ]


@pytest.mark.parametrize(("expr", "legend"), _legends())
def test_a_legend_names_labels_of_the_result(expr: str, legend: str, reader: Reader) -> None:
    """Each label in a legend is one of the result's."""
    assert set(re.findall(r"{{(\w+)}}", legend)) <= reader.labels(expr)


def test_variables_look_at_metrics_that_exist(emitted: Emitted) -> None:
    """The series that variables take their values from exist, and have the labels asked for."""
    queries = {
        filled(variable["query"]["query"])
        for dashboard in dashboards()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "query" and "qryType" in variable["query"]
    }
    for query in queries:
        match = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
        assert match
        selector, label = match.groups()
        names = re.search(r'__name__=~"([^"]+)"', selector)
        assert names
        promql_parser.parse(selector)
        assert any(label in emitted.labels(name) for name in names[1].split("|"))
    assert len(queries) == 3  # service, agent, model


@pytest.mark.parametrize(
    ("expr", "complaint"),
    [
        ("lovia_no_such_metric", "nothing emits"),
        ('lovia_context_saved_tokens_total{color="red"}', "no label color"),
        ('lovia_context_saved_tokens_total{gen_ai_agent_name="nobody"}', "has no gen_ai_agent"),
        ('lovia_cancellations_total{lovia_cancellation_reason=~"timeout|boredom"}', "boredom"),
        ("sum by (lovia_compaction_stage) (lovia_context_saved_tokens_total)", "no label lovia"),
        ("histogram_quantile(0.5, lovia_context_saved_tokens_total)", "no buckets"),
        ("sum without (job) (lovia_context_saved_tokens_total)", "without"),
        ('{job="app"}', "names no metric"),
    ],
)
def test_a_wrong_expression_is_found(expr: str, complaint: str, reader: Reader) -> None:
    """What does not exist is named: the tests above can fail."""
    with pytest.raises(UnknownError, match=complaint):
        reader.labels(expr)
