"""Instruments: kinds, units, buckets, and what may become an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia_otel import names, run_scope, tool_scope
from lovia_otel.metrics import MAX_VALUES_PER_KEY, METRICS, Instruments, Metric

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

IDS = {names.CONVERSATION_ID, names.RUN_ID, names.TOOL_CALL_ID, names.COMPACTION_ID}


def instruments(telemetry: Telemetry) -> Instruments:
    """Make the instruments of the test's own meter."""
    return Instruments(telemetry.meter_provider.get_meter("test"))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_no_id_is_an_attribute(metric: Metric) -> None:
    """Sessions, runs, calls and passes never make a series of their own."""
    assert IDS.isdisjoint(metric.attributes)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_fully_described(metric: Metric) -> None:
    """Each has a sentence that says what it measures; a histogram has buckets, others have none."""
    assert metric.description.endswith(".")
    assert (metric.buckets is not None) == (metric.kind == "histogram")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_instrument_is_what_its_declaration_says(telemetry: Telemetry, metric: Metric) -> None:
    """Recording a value gives a series with the declared unit, description and boundaries."""
    facts = {key: f"value of {key}" for key in (*metric.attributes, *IDS)}
    instruments(telemetry).record(metric.name, 1, facts)
    data = telemetry.reader.get_metrics_data()
    assert data is not None
    (found,) = data.resource_metrics[0].scope_metrics[0].metrics
    assert (found.name, found.unit, found.description) == (
        metric.name,
        metric.unit,
        metric.description,
    )
    (point,) = found.data.data_points
    kept = {key: facts[key] for key in metric.attributes}
    assert dict(point.attributes or {}) == {**kept, **metric.constant}
    bounds = getattr(point, "explicit_bounds", None)
    assert bounds == (None if metric.buckets is None else tuple(metric.buckets))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_ratio_is_a_histogram(metric: Metric) -> None:
    """No gauge and no counter has the unit 1: backends disagree on their names."""
    assert metric.unit != names.UNIT_RATIO or metric.kind == "histogram"


@pytest.mark.parametrize("value", [None, -1, -0.5, "5"])
def test_what_is_no_count_is_not_recorded(telemetry: Telemetry, value: object) -> None:
    """An unknown, a negative and a text leave no series, and no warning of the SDK."""
    made = instruments(telemetry)
    made.record(names.METRIC_SAVED_TOKENS, value, {})
    made.record(names.METRIC_REQUEST_SIZE, value, {})
    assert telemetry.points(names.METRIC_SAVED_TOKENS) == []
    assert telemetry.points(names.METRIC_REQUEST_SIZE) == []


def test_names_on_metrics_are_bounded(telemetry: Telemetry) -> None:
    """The first names have their series; all later ones share one, and known ones keep theirs."""
    for index in range(MAX_VALUES_PER_KEY + 50):
        with run_scope(agent=f"agent {index}", run_id=None, session_id=None):
            pass
    with run_scope(agent="agent 0", run_id=None, session_id=None):
        pass
    points = telemetry.points(names.METRIC_RUN_DURATION)
    counts = {point.attributes[names.AGENT_NAME]: point.count for point in points}
    assert len(counts) == MAX_VALUES_PER_KEY + 1
    assert counts[names.OTHER] == 50
    assert counts["agent 0"] == 2
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0


def test_each_key_has_its_own_bound(telemetry: Telemetry) -> None:
    """Many tools do not push out the names of agents."""
    for index in range(MAX_VALUES_PER_KEY + 1):
        with tool_scope(tool=f"tool {index}", call_id=None, agent="support"):
            pass
    points = telemetry.points(names.METRIC_TOOL_DURATION)
    assert {point.attributes[names.AGENT_NAME] for point in points} == {"support"}
    assert names.OTHER in {point.attributes[names.TOOL_NAME] for point in points}
