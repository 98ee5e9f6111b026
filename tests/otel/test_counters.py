"""What is counted without a span."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia_otel import names, record_cancellation, record_handoff

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


def test_a_handoff_counts_for_its_two_agents(telemetry: Telemetry) -> None:
    """Source and target are the attributes."""
    record_handoff("triage", "billing")
    record_handoff("triage", "billing")
    assert telemetry.total(names.METRIC_HANDOFFS) == 2
    assert telemetry.keys(names.METRIC_HANDOFFS) == {
        names.HANDOFF_SOURCE: "triage",
        names.HANDOFF_TARGET: "billing",
    }


def test_a_cancellation_counts_for_its_reason_and_place(telemetry: Telemetry) -> None:
    """Reason and checkpoint are the attributes; what is unknown is left out."""
    record_cancellation("timeout", "fold")
    record_cancellation("user")
    points = telemetry.points(names.METRIC_CANCELLATIONS)
    assert sorted((dict(point.attributes) for point in points), key=len) == [
        {names.CANCELLATION_REASON: "user"},
        {names.CANCELLATION_REASON: "timeout", names.CANCELLATION_CHECKPOINT: "fold"},
    ]


@pytest.mark.usefixtures("no_sdk")
def test_counting_without_an_sdk_does_nothing() -> None:
    """No provider, no harm."""
    record_handoff("a", "b")
    record_cancellation("user", "turn")
