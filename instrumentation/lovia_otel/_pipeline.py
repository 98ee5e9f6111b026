"""Building SDK providers from settings. Only ``configure`` imports it: it loads the SDK."""

from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from lovia_otel._closing import Closer
from lovia_otel._console import SpanTreePrinter
from lovia_otel._counting import CountedLogRecordExporter, CountedSpanExporter
from lovia_otel._exporting import ForkedReader, RenewedExporter, SharedLines
from lovia_otel._forking import renew_in_child
from lovia_otel.errors import ConfigurationError, MissingSdkError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

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

    spans: Any
    metrics: Any
    logs: Any

    def only(self, signals: Collection[Signal]) -> Exporters:
        """Return those of the given signals."""
        return Exporters(
            self.spans if "traces" in signals else None,
            self.metrics if "metrics" in signals else None,
            self.logs if "logs" in signals else None,
        )


@dataclass
class _Parts:
    """What a pipeline is made of, beside its providers."""

    files: ExitStack
    exporters: list[RenewedExporter] = field(default_factory=list)
    readers: list[ForkedReader] = field(default_factory=list)

    def renewed(self, make: Callable[[], Any]) -> RenewedExporter:
        """Return an exporter that a forked process has anew."""
        self.exporters.append(RenewedExporter(make))
        return self.exporters[-1]


class Pipeline:
    """The providers of one configuration, and what is closed after them."""

    def __init__(
        self,
        tracer_provider: TracerProvider,
        meter_provider: MeterProvider,
        logger_provider: LoggerProvider,
        parts: _Parts,
    ) -> None:
        self.tracer_provider = tracer_provider
        self.meter_provider = meter_provider
        self.logger_provider = logger_provider
        self._parts = parts
        self._lock = threading.Lock()
        providers = (tracer_provider, meter_provider, logger_provider)
        self._open = len(providers)
        self._closers = [Closer(partial(self._close, provider)) for provider in providers]
        _follow_forks(self)  # after the SDK's own followers, which were added with the providers

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

    def hold(self) -> None:
        """Hold still for a fork."""
        for reader in self._parts.readers:
            reader.hold()

    def go_on(self) -> None:
        """Go on after a fork, in the process that forked."""
        for reader in self._parts.readers:
            reader.go_on()

    def begin_anew(self) -> None:
        """Go on in a forked process: with connections of its own, and counting from nothing.

        The SDK itself starts its threads again, and forgets spans and events that were waiting.
        """
        self._lock = threading.Lock()
        readers = self._parts.readers
        for reader in readers:
            reader.leave()
            self.meter_provider.remove_metric_reader(reader)
        for exporter in self._parts.exporters:
            exporter.renew()
        # In place: the provider ends and flushes those of the list that it was given.
        readers[:] = [ForkedReader(reader.exporter) for reader in readers]
        for reader in readers:
            self.meter_provider.add_metric_reader(reader)

    def _close(self, provider: TracerProvider | MeterProvider | LoggerProvider) -> None:
        """Shut one provider down; the last one to finish, even if late, closes the file."""
        try:
            provider.shutdown()
        finally:
            with self._lock:
                self._open -= 1
                last = self._open == 0
            if last:
                self._parts.files.close()


def _follow_forks(pipeline: Pipeline) -> None:
    """Have a pipeline told of forks, as long as it lives."""
    if not hasattr(os, "register_at_fork"):
        return

    def tell(method: weakref.WeakMethod[Callable[[], None]]) -> None:
        alive = method()
        if alive is not None:
            alive()

    os.register_at_fork(
        before=partial(tell, weakref.WeakMethod(pipeline.hold)),
        after_in_parent=partial(tell, weakref.WeakMethod(pipeline.go_on)),
        after_in_child=partial(tell, weakref.WeakMethod(pipeline.begin_anew)),
    )


def build(settings: Settings) -> Pipeline:
    """Make the providers that ``settings`` ask for. Nothing is global yet, nothing is sent.

    Raises:
        MissingSdkError: an exporter that is asked for is not installed.
        ConfigurationError: the file cannot be opened.
    """
    with ExitStack() as files:
        parts = _Parts(files)
        destinations = []
        # The file comes first: it must not wait behind a receiver that is down.
        if settings.file is not None:
            destinations.append(_file(settings.file, parts))
        if settings.otlp:
            destinations.append(_otlp(settings, parts).only(settings.otlp))
        parts.files = files.pop_all()
    return _providers(settings, destinations, parts)


def _providers(settings: Settings, destinations: list[Exporters], parts: _Parts) -> Pipeline:
    resource = _resource(settings)
    # Our own exit hook shuts them down, in order and before the file closes.
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    for exporters in destinations:
        if exporters.spans is not None:
            counted = CountedSpanExporter(exporters.spans)
            tracers.add_span_processor(BatchSpanProcessor(counted))
        if exporters.metrics is not None:
            parts.readers.append(ForkedReader(exporters.metrics))
        if exporters.logs is not None:
            records = CountedLogRecordExporter(exporters.logs)
            loggers.add_log_record_processor(BatchLogRecordProcessor(records))
    if settings.console:
        printer: Any = parts.renewed(SpanTreePrinter)
        tracers.add_span_processor(BatchSpanProcessor(printer, schedule_delay_millis=_PRINT_EVERY))
    meters = MeterProvider(metric_readers=parts.readers, resource=resource, shutdown_on_exit=False)
    return Pipeline(tracers, meters, loggers, parts)


class _HashedResource(Resource):
    """A resource whose hash is known: exporters ask for it with every single span and event.

    The SDK's own writes all of its attributes as JSON each time.
    """

    def __init__(self, resource: Resource) -> None:
        super().__init__(resource.attributes, resource.schema_url)
        self._hash = super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    def merge(self, other: Resource) -> Resource:
        """Return both as one; the SDK does so in a forked process, which is a resource anew."""
        return _HashedResource(super().merge(other))


def _resource(settings: Settings) -> Resource:
    attributes: dict[str, Any] = dict(settings.resource_attributes)
    if settings.service_name is not None:
        attributes[SERVICE_NAME] = settings.service_name
    # With OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME.
    return _HashedResource(Resource.create(attributes))


# --- OTLP over the network ---


def _otlp(settings: Settings, parts: _Parts) -> Exporters:
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
        parts.renewed(lambda: spans(endpoint=at("traces"))),
        parts.renewed(lambda: metrics(endpoint=at("metrics"))),
        parts.renewed(lambda: logs(endpoint=at("logs"))),
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


def _file(path: Path, parts: _Parts) -> Exporters:
    try:
        from opentelemetry.exporter.otlp.json.file import FileMetricExporter, FileSpanExporter
        from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
    except ImportError as error:
        raise _missing("opentelemetry-exporter-otlp-json-file") from error
    lines: Any = SharedLines(_open(path))
    parts.files.callback(lines.close)
    renew_in_child(lines)
    return Exporters(
        parts.renewed(lambda: FileSpanExporter(stream=lines)),
        parts.renewed(lambda: FileMetricExporter(stream=lines)),
        parts.renewed(lambda: FileLogExporter(stream=lines)),
    )


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write telemetry to {path}: {error.strerror}",
            hint="give configure() a file in a folder that can be written",
        ) from error
