"""Names as Prometheus stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dashboards import naming
from lovia_otel.metrics import METRICS, Metric

if TYPE_CHECKING:
    from dashboards.naming import Kind


@pytest.mark.parametrize(
    ("name", "unit", "kind", "stored"),
    [
        ("lovia.context.history.size", "{token}", "histogram", "lovia_context_history_size_bucket"),
        ("lovia.context.saved.tokens", "{token}", "counter", "lovia_context_saved_tokens_total"),
        ("lovia.compaction.duration", "s", "histogram", "lovia_compaction_duration_seconds_bucket"),
        ("lovia.archive.write.size", "By", "histogram", "lovia_archive_write_size_bytes_bucket"),
        (
            "lovia.context.window.utilization",
            "1",
            "histogram",
            "lovia_context_window_utilization_bucket",
        ),
        ("lovia.agent.run.active", "{run}", "updown", "lovia_agent_run_active"),
        ("a.total.of.seconds", "s", "counter", "a_of_seconds_total"),
        ("odd..name-here", "{thing}", "counter", "odd_name_here_total"),
    ],
)
def test_a_metric_s_name(name: str, unit: str, kind: Kind, stored: str) -> None:
    """Dots become underscores, the unit and the kind become suffixes, each once."""
    assert naming.series(Metric(name, kind, unit, "example"))[0] == stored


@pytest.mark.parametrize(
    ("attribute", "stored"),
    [
        ("gen_ai.agent.name", "gen_ai_agent_name"),
        ("error.type", "error_type"),
        ("0.of.a.kind", "key_0_of_a_kind"),
    ],
)
def test_an_attribute_s_label(attribute: str, stored: str) -> None:
    """What a label may not hold becomes an underscore, and no label begins with a digit."""
    assert naming.label(attribute) == stored


def test_a_histogram_has_three_series_and_buckets() -> None:
    """A histogram is stored as buckets, count and sum, and its buckets have a bound as label."""
    metric = Metric("a.b", "histogram", "s", "example", ("x.y",), constant={"z": "1"})
    assert naming.series(metric) == ("a_b_seconds_bucket", "a_b_seconds_count", "a_b_seconds_sum")
    assert naming.labels(metric) == {"x_y", "z", "le"}


@pytest.mark.parametrize(
    ("unit", "kind", "complaint"), [("furlong", "counter", "furlong"), ("1", "updown", "gauge")]
)
def test_a_name_that_backends_would_not_agree_on(unit: str, kind: Kind, complaint: str) -> None:
    """A unit without a known suffix, and a gauge that is a ratio, are refused."""
    with pytest.raises(ValueError, match=complaint):
        naming.series(Metric("a.b", kind, unit, "example"))


def test_no_two_metrics_share_a_name() -> None:
    """Each metric of the project has series of its own."""
    stored = [name for metric in METRICS for name in naming.series(metric)]
    assert len(set(stored)) == len(stored)
