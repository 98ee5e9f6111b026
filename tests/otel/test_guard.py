"""Failures of telemetry stop at one boundary."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.metrics import Meter, MeterProvider

from lovia_otel import names, use_providers
from lovia_otel.guard import guarded

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


@guarded
def fail(error: BaseException) -> None:
    """Raise what is given."""
    raise error


def test_an_exception_is_dropped_counted_and_logged(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller sees nothing; the counter and a debug record do."""
    with caplog.at_level(logging.DEBUG, logger="lovia_otel"):
        fail(ValueError("broken"))
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1
    (record,) = [record for record in caplog.records if record.name == "lovia_otel"]
    assert record.levelno == logging.DEBUG
    assert "broken" in caplog.text


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_pass_through(interrupt: type[BaseException]) -> None:
    """What is no `Exception` is not telemetry's to stop."""
    with pytest.raises(interrupt):
        fail(interrupt())


class BrokenMeters(MeterProvider):
    """A meter provider that fails."""

    def get_meter(self, *args: Any, **kwargs: Any) -> Meter:
        """Fail."""
        raise RuntimeError("no meter")


def test_a_drop_that_cannot_be_counted_is_harmless(caplog: pytest.LogCaptureFixture) -> None:
    """With a meter that is itself broken, the drop is logged and nothing is raised."""
    with (
        caplog.at_level(logging.DEBUG, logger="lovia_otel"),
        use_providers(meter_provider=BrokenMeters()),
    ):
        fail(ValueError("broken"))
    assert len([record for record in caplog.records if record.name == "lovia_otel"]) == 2
