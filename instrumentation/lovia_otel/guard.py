"""The boundary that telemetry failures do not cross: they are caught once, counted and logged."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, ParamSpec

from lovia_otel import names, providers

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")

_log = logging.getLogger("lovia_otel")


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Make a function that records telemetry safe to call: an ``Exception`` in it is dropped.

    A broken exporter, a failing redaction hook or a value that will not print costs its own piece
    of telemetry, never the run. Interrupts and cancellation (no ``Exception``) pass through.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - this is the boundary
            drop(function.__qualname__)

    return call


def drop(where: str) -> None:
    """Count one piece of telemetry as lost, and log the exception being handled at debug level."""
    _log.debug("telemetry was dropped in %s", where, exc_info=True)
    lost(1)


def lost(count: int) -> None:
    """Count pieces of telemetry as lost: spans, log records, or what could not be recorded."""
    try:
        instruments = providers.instruments()
        if instruments is not None:
            instruments.record(names.METRIC_DROPPED_EVENTS, count, {})
    except Exception:  # noqa: BLE001 - the meter is what is broken
        _log.debug("the loss could not be counted", exc_info=True)
