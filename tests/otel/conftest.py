"""A real SDK with exporters that keep everything in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry._logs import NoOpLoggerProvider
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider

from lovia_otel import names, use_providers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry._logs import LogRecord


@dataclass(frozen=True)
class Telemetry:
    """What was recorded so far, by name."""

    tracer_provider: TracerProvider
    meter_provider: MeterProvider
    logger_provider: LoggerProvider
    exported: InMemorySpanExporter
    reader: InMemoryMetricReader
    logged: InMemoryLogRecordExporter

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """The finished spans by name; of several with one name, the last."""
        return {span.name: span for span in self.exported.get_finished_spans()}

    def attributes(self, span: str) -> dict[str, Any]:
        """Return the attributes of the finished span with this name."""
        return dict(self.spans[span].attributes or {})

    @property
    def events(self) -> dict[str | None, LogRecord]:
        """The emitted log events by event name."""
        return {
            log.log_record.event_name: log.log_record for log in self.logged.get_finished_logs()
        }

    def all_events(self, name: str) -> list[LogRecord]:
        """Return every log event of this name, in order."""
        records = (log.log_record for log in self.logged.get_finished_logs())
        return [record for record in records if record.event_name == name]

    def points(self, metric: str) -> list[Any]:
        """Return the data points of a metric; none when it was never recorded."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for found in scope.metrics
            if found.name == metric
            for point in found.data.data_points
        ]

    def total(self, metric: str) -> float:
        """Return the sum of a metric over all its series."""
        return float(sum(getattr(p, "value", getattr(p, "sum", 0)) for p in self.points(metric)))

    def keys(self, metric: str) -> dict[str, Any]:
        """Return the attributes of a metric's only series."""
        (point,) = self.points(metric)
        return dict(point.attributes)


@contextmanager
def recorded_telemetry() -> Iterator[Telemetry]:
    """Record in memory whatever happens inside the block."""
    exported, reader, logged = (
        InMemorySpanExporter(),
        InMemoryMetricReader(),
        InMemoryLogRecordExporter(),  # type: ignore[no-untyped-call]
    )
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exported))
    meters = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logged))
    with use_providers(tracer_provider=tracers, meter_provider=meters, logger_provider=loggers):
        yield Telemetry(tracers, meters, loggers, exported, reader, logged)


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    """Record everything in memory, with the content settings of a bare environment."""
    for variable in (names.ENV_CAPTURE_CONTENT, names.ENV_EMIT_EVENT):
        monkeypatch.delenv(variable, raising=False)
    with recorded_telemetry() as telemetry:
        yield telemetry


@pytest.fixture
def no_sdk() -> Iterator[None]:
    """Have no SDK, whatever other tests have installed for the whole process."""
    with use_providers(
        tracer_provider=NoOpTracerProvider(),
        meter_provider=NoOpMeterProvider(),
        logger_provider=NoOpLoggerProvider(),
    ):
        yield
