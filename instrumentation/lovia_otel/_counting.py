"""Counting what an exporter could not deliver: spans and log records that are gone for good.

Metrics are not counted: they are cumulative, and the next export that gets through makes up for
those that did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from lovia_otel.guard import lost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.trace import ReadableSpan


class CountedSpanExporter(SpanExporter):
    """Exports spans as another exporter does, and counts those that it gives up."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; raises what the other exporter raises."""
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            if result is not SpanExportResult.SUCCESS:
                lost(len(spans))
        return result

    def shutdown(self) -> None:
        """End the other exporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Have the other exporter write what it holds."""
        return self._exporter.force_flush(timeout_millis)


class CountedLogRecordExporter(LogRecordExporter):
    """Exports log records as another exporter does, and counts those that it gives up."""

    def __init__(self, exporter: LogRecordExporter) -> None:
        self._exporter = exporter

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Export records; raises what the other exporter raises."""
        result = LogRecordExportResult.FAILURE
        try:
            result = self._exporter.export(batch)
        finally:
            if result is not LogRecordExportResult.SUCCESS:
                lost(len(batch))
        return result

    def shutdown(self) -> None:
        """End the other exporter."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the SDK leaves it untyped

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        """Have the other exporter write what it holds."""
        return self._exporter.force_flush(timeout_millis)
