"""Exporting what a command does, when it is asked to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from lovia.cli.console import error_console
from lovia_otel import configure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["exported"]


@contextmanager
def exported(otlp: str | None = None, *, file: Path | None = None) -> Iterator[None]:
    """Export the telemetry of the block to an OTLP receiver, a file, both or nowhere.

    A receiver that does not answer costs a warning, never the work.

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
        sent = handle.flush()
        handle.shutdown()
        if not sent:
            message = f"lovia: not all telemetry could be sent to {otlp or file}"
            error_console().print(message, style="yellow", soft_wrap=True)
