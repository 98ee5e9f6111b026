"""Exporting what a command does, when it is asked to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from lovia_otel import configure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["exported"]


@contextmanager
def exported(otlp: str | None = None, *, file: Path | None = None) -> Iterator[None]:
    """Export the telemetry of the block to an OTLP receiver, a file, both or nowhere.

    A receiver that does not answer costs a warning and a few seconds, never the work.

    Raises:
        TelemetryError: The SDK is not installed, or the address is none.
    """
    if otlp is None and file is None:
        yield
        return
    handle = configure(endpoint=otlp, file=file, service_name="lovia", set_global=False)
    try:
        yield
    finally:
        handle.shutdown()
