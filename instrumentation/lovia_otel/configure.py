"""Setting telemetry up for an application: SDK providers, exporters, content, flush at exit.

Libraries use the OpenTelemetry API alone; an application calls :func:`configure` once. The SDK is
an extra, ``lovia-otel[otlp]``, and is loaded only here.
"""

from __future__ import annotations

import atexit
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

from opentelemetry import _logs, metrics, trace

from lovia_otel._forking import renew_in_child
from lovia_otel._settings import (
    Capture,
    Destinations,
    Protocol,
    ResourceValue,
    Settings,
    endpoint_of,
    mode_of,
    protocol_of,
    resource_of,
)
from lovia_otel.bridge import flush_bridges
from lovia_otel.content import ContentSettings, Redactor, restore_content, set_content
from lovia_otel.errors import MissingSdkError
from lovia_otel.prices.current import Prices, replace_prices, restore_prices, source_of
from lovia_otel.providers import Providers, is_noop, restore_providers, set_providers

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from types import TracebackType

    from lovia_otel._pipeline import Pipeline

_log = logging.getLogger("lovia_otel")


class TelemetryHandle:
    """Telemetry that is set up. Keep it to flush or to end it; it also ends at process exit.

    As a context manager it ends at the end of the ``with`` block. In a forked process it goes on by
    itself, counting from nothing; a child that leaves by ``os._exit`` has to :meth:`flush` before.
    """

    def __init__(self, settings: Settings, pipeline: Pipeline) -> None:
        self.settings = settings
        self._pipeline = pipeline
        self._ended = False
        self.begin_anew()
        self._providers = Providers(
            pipeline.tracer_provider, pipeline.meter_provider, pipeline.logger_provider
        )
        self._content = ContentSettings(settings.mode, settings.redact)
        self._previous_providers = set_providers(self._providers)
        self._previous_content = set_content(self._content)
        self._prices, self._previous_prices = replace_prices(settings.prices)
        atexit.register(self.shutdown)
        renew_in_child(self)
        _follow_processes(self)

    def begin_anew(self) -> None:
        """Have a lock that nobody holds, in a forked process."""
        self._lock = threading.Lock()

    @property
    def ended(self) -> bool:
        """Has this telemetry been shut down?"""
        return self._ended

    @property
    def tracer_provider(self) -> trace.TracerProvider:
        """The SDK's tracer provider, for an application's own spans."""
        return self._pipeline.tracer_provider

    @property
    def meter_provider(self) -> metrics.MeterProvider:
        """The SDK's meter provider, for an application's own metrics."""
        return self._pipeline.meter_provider

    @property
    def logger_provider(self) -> _logs.LoggerProvider:
        """The SDK's logger provider, for an application's own events."""
        return self._pipeline.logger_provider

    def flush(self, seconds: float = 10.0) -> bool:
        """Export what is waiting now; ``False`` if that took longer than ``seconds`` or failed."""
        flush_bridges(seconds)
        try:
            return self._ended or self._pipeline.flush(seconds)
        except Exception:  # noqa: BLE001 - whatever an exporter raises
            _log.debug("telemetry could not be flushed", exc_info=True)
            return False

    def shutdown(self, seconds: float = 5.0) -> None:
        """Export what is waiting, and end. Ending again does nothing.

        A receiver that is down holds this up no longer than ``seconds``; what it has not taken by
        then is dropped.
        """
        with self._lock:
            if self._ended:
                return
            self._ended = True
        atexit.unregister(self.shutdown)
        flush_bridges(seconds)
        restore_providers(self._providers, self._previous_providers)
        restore_content(self._content, self._previous_content)
        restore_prices(self._prices, self._previous_prices)
        if not self._pipeline.shutdown(seconds):
            _log.warning("telemetry could not all be sent within %s seconds", seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()


def _follow_processes(handle: TelemetryHandle) -> None:
    """End telemetry with each forked process of ``multiprocessing``, which skips exit hooks."""
    from multiprocessing.util import Finalize, register_after_fork  # takes long to import

    register_after_fork(handle, lambda ours: Finalize(None, ours.shutdown, exitpriority=0))


class _Current:
    """The configuration in force, if any."""

    def __init__(self) -> None:
        self.handle: TelemetryHandle | None = None
        self.begin_anew()
        renew_in_child(self)

    def begin_anew(self) -> None:
        """Have a lock that nobody holds, in a forked process."""
        self.lock = threading.Lock()


_current = _Current()


def configure(  # noqa: PLR0913 - an application sets up everything in one call
    endpoint: str | None = None,
    service_name: str | None = None,
    *,
    protocol: Protocol | None = None,
    file: str | os.PathLike[str] | None = None,
    console: bool = False,
    resource_attributes: Mapping[str, ResourceValue] | None = None,
    capture_content: Capture = None,
    redact: Redactor | None = None,
    prices: Prices = None,
    set_global: bool = True,
) -> TelemetryHandle:
    """Set up traces, metrics and log events for this application, and return a handle on them.

    Telemetry goes to each destination that is named: an OTLP ``endpoint``, a ``file``, the
    ``console``. With none of them, ``OTEL_TRACES_EXPORTER`` and its kin decide, and without those
    OTLP goes to localhost. ``none`` in such a variable keeps its signal off the network in any
    case. All other ``OTEL_*`` variables (endpoint, headers, sampler, limits, resource, batching)
    apply as the SDK defines them; an argument wins over its variable.

    Args:
        endpoint: base URL of an OTLP receiver, for example ``http://localhost:4318``; the path of
            each signal is appended for HTTP.
        service_name: ``service.name`` of the resource.
        protocol: ``http/protobuf`` (the default) or ``grpc``.
        file: a file that OTLP JSON lines are appended to, all signals in one; made with its
            folders where missing, and readable by its owner only.
        console: print a tree of each finished trace on standard error.
        resource_attributes: further attributes of the resource.
        capture_content: where prompts, answers and summaries may go: a ``CaptureMode``, its
            name, or ``True`` for everywhere. ``None``: the environment decides, by default nowhere.
        redact: is given every text of captured content and returns what may leave in its place.
        prices: what tokens cost, so that calls, summaries and savings have a figure in money too: a
            file (TOML or JSON), ``"genai-prices"`` (the extra ``prices``) or a ``PriceTable``.
            ``None``: what ``LOVIA_OTEL_PRICES`` names, by default nothing.
        set_global: make the providers the process-wide ones, so that other instrumentations use
            them too. OpenTelemetry allows that once in a process: afterwards, or where the
            application has set up an SDK itself, only this package's own telemetry goes here.

    Calling again with the same arguments returns the same handle. With other arguments, what was
    set up before is flushed and ended, and this package's telemetry follows the new arguments.

    Raises:
        MissingSdkError: the SDK or an exporter is not installed.
        ConfigurationError: an argument or a variable cannot be used; ``PriceTableError`` names the
            place in a file of prices.
        MissingPricesError: ``genai-prices`` is not installed.
    """
    destinations = Destinations(
        endpoint=endpoint_of(endpoint), file=None if file is None else Path(file), console=console
    )
    otlp, trees = destinations.resolved()
    settings = Settings(
        otlp=otlp,
        endpoint=destinations.endpoint,
        protocol=protocol_of(protocol),
        file=destinations.file,
        console=trees,
        service_name=service_name,
        resource_attributes=resource_of(resource_attributes),
        mode=mode_of(capture_content),
        redact=redact,
        prices=source_of(prices),
        set_global=set_global,
    )
    with _current.lock:
        handle = _current.handle
        if handle is not None and not handle.ended:
            if handle.settings == settings:
                return handle
            handle.shutdown()
        _current.handle = _start(settings)
        return _current.handle


def _start(settings: Settings) -> TelemetryHandle:
    try:
        from lovia_otel import _pipeline
    except ModuleNotFoundError as error:
        raise MissingSdkError(
            f"configure() needs the OpenTelemetry SDK: {error.name} is not installed",
            hint="pip install 'lovia-otel[otlp]'",
        ) from error
    pipeline = _pipeline.build(settings)
    if settings.set_global:
        _set_global(pipeline)
    return TelemetryHandle(settings, pipeline)


def _set_global(pipeline: Pipeline) -> None:
    """Set the process-wide providers where nobody has; setting one twice is an error to the API."""
    if is_noop(trace.get_tracer_provider(), trace):
        trace.set_tracer_provider(pipeline.tracer_provider)
    if is_noop(metrics.get_meter_provider(), metrics):
        metrics.set_meter_provider(pipeline.meter_provider)
    if is_noop(_logs.get_logger_provider(), _logs):
        _logs.set_logger_provider(pipeline.logger_provider)
