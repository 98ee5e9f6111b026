"""Building SDK providers from settings. Only ``configure`` imports it: it loads the SDK."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Final

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from lovia_otel._closing import Closer
from lovia_otel._console import SpanTreePrinter
from lovia_otel.errors import ConfigurationError, MissingSdkError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from opentelemetry.sdk._logs.export import LogRecordExporter
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter

    from lovia_otel._settings import Settings, Signal

_PRINT_EVERY: Final = 200  # milliseconds
_PRIVATE: Final = 0o600  # a recording can hold prompts
_PACKAGES: Final = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc",
}
_DISTRIBUTIONS: Final = {
    "http/protobuf": "opentelemetry-exporter-otlp-proto-http",
    "grpc": "opentelemetry-exporter-otlp-proto-grpc",
}


@dataclass(frozen=True)
class Exporters:
    """One exporter for each signal that goes to a destination."""

    spans: SpanExporter | None
    metrics: MetricExporter | None
    logs: LogRecordExporter | None

    def only(self, signals: Collection[Signal]) -> Exporters:
        """Return those of the given signals."""
        return Exporters(
            self.spans if "traces" in signals else None,
            self.metrics if "metrics" in signals else None,
            self.logs if "logs" in signals else None,
        )


class Pipeline:
    """The providers of one configuration, and what is closed after them."""

    def __init__(
        self,
        tracer_provider: TracerProvider,
        meter_provider: MeterProvider,
        logger_provider: LoggerProvider,
        files: ExitStack,
    ) -> None:
        self.tracer_provider = tracer_provider
        self.meter_provider = meter_provider
        self.logger_provider = logger_provider
        self._files = files
        self._lock = threading.Lock()
        providers = (tracer_provider, meter_provider, logger_provider)
        self._open = len(providers)
        self._closers = [Closer(partial(self._close, provider)) for provider in providers]

    def flush(self, seconds: float) -> bool:
        """Export what is waiting; ``False`` when that took longer than ``seconds`` or failed."""
        milliseconds = int(seconds * 1000)
        flushed = [
            self.tracer_provider.force_flush(milliseconds),
            self.meter_provider.force_flush(milliseconds),
            self.logger_provider.force_flush(milliseconds),
        ]
        return all(flushed)

    def shutdown(self, seconds: float) -> bool:
        """Export what is waiting, stop the exporters, close the file; ``False`` if out of time."""
        deadline = time.monotonic() + seconds
        for closer in self._closers:
            closer.ask()
        return all(closer.wait(deadline - time.monotonic()) for closer in self._closers)

    def _close(self, provider: TracerProvider | MeterProvider | LoggerProvider) -> None:
        """Shut one provider down; the last one to finish, even if late, closes the file."""
        try:
            provider.shutdown()
        finally:
            with self._lock:
                self._open -= 1
                last = self._open == 0
            if last:
                self._files.close()


def build(settings: Settings) -> Pipeline:
    """Make the providers that ``settings`` ask for. Nothing is global yet, nothing is sent.

    Raises:
        MissingSdkError: an exporter that is asked for is not installed.
        ConfigurationError: the file cannot be opened.
    """
    with ExitStack() as files:
        destinations = []
        # The file comes first: it must not wait behind a receiver that is down.
        if settings.file is not None:
            destinations.append(_file(settings.file, files))
        if settings.otlp:
            destinations.append(_otlp(settings).only(settings.otlp))
        pipeline = _providers(settings, destinations, files.pop_all())
    if settings.console:
        printer = BatchSpanProcessor(SpanTreePrinter(), schedule_delay_millis=_PRINT_EVERY)
        pipeline.tracer_provider.add_span_processor(printer)
    return pipeline


def _providers(settings: Settings, destinations: list[Exporters], files: ExitStack) -> Pipeline:
    resource = _resource(settings)
    # Our own exit hook shuts them down, in order and before the file closes.
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    readers = []
    for exporters in destinations:
        if exporters.spans is not None:
            tracers.add_span_processor(BatchSpanProcessor(exporters.spans))
        if exporters.metrics is not None:
            readers.append(PeriodicExportingMetricReader(exporters.metrics))
        if exporters.logs is not None:
            loggers.add_log_record_processor(BatchLogRecordProcessor(exporters.logs))
    meters = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
    return Pipeline(tracers, meters, loggers, files)


def _resource(settings: Settings) -> Resource:
    attributes: dict[str, Any] = dict(settings.resource_attributes)
    if settings.service_name is not None:
        attributes[SERVICE_NAME] = settings.service_name
    return Resource.create(attributes)  # with OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME


# --- OTLP over the network ---


def _otlp(settings: Settings) -> Exporters:
    """Make the exporters of the protocol; without an endpoint they read their own variables."""
    package = _PACKAGES[settings.protocol]
    try:
        spans = import_module(f"{package}.trace_exporter").OTLPSpanExporter
        metrics = import_module(f"{package}.metric_exporter").OTLPMetricExporter
        logs = import_module(f"{package}._log_exporter").OTLPLogExporter
    except ImportError as error:
        raise _missing(_DISTRIBUTIONS[settings.protocol]) from error
    at = partial(_signal_endpoint, settings)
    return Exporters(
        spans(endpoint=at("traces")), metrics(endpoint=at("metrics")), logs(endpoint=at("logs"))
    )


def _signal_endpoint(settings: Settings, signal: Signal) -> str | None:
    """Return where a signal goes: over HTTP each has a path of its own below the base URL."""
    if settings.endpoint is None or settings.protocol == "grpc":
        return settings.endpoint
    return f"{settings.endpoint.rstrip('/')}/v1/{signal}"


def _missing(distribution: str) -> MissingSdkError:
    return MissingSdkError(
        f"the exporter for this protocol is not installed ({distribution})",
        hint=f"pip install 'lovia-otel[otlp]' {distribution}",
    )


# --- OTLP JSON lines into a file ---


def _file(path: Path, files: ExitStack) -> Exporters:
    try:
        from opentelemetry.exporter.otlp.json.file import FileMetricExporter, FileSpanExporter
        from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
    except ImportError as error:
        raise _missing("opentelemetry-exporter-otlp-json-file") from error
    stream: Any = _SharedLines(files.enter_context(_open(path)))
    return Exporters(
        FileSpanExporter(stream=stream),
        FileMetricExporter(stream=stream),
        FileLogExporter(stream=stream),
    )


def _open(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write telemetry to {path}: {error.strerror}",
            hint="give configure() a file in a folder that can be written",
        ) from error
    return os.fdopen(descriptor, "a", encoding="utf-8")


class _SharedLines:
    """One file for the exporters of three signals, each of which writes from its own thread.

    An exporter hands over a whole line a call, so one lock a call keeps the lines whole.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self.write: Callable[[str], int] = self._locked(stream.write)
        self.flush: Callable[[], None] = self._locked(stream.flush)

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def _locked(self, method: Any) -> Any:
        def call(*args: Any) -> Any:
            with self._lock:
                return method(*args)

        return call
