"""Where tracers, meters and loggers come from: the application's providers, asked when needed.

Nothing is created at import. As long as the application has installed no SDK, each function here
returns ``None`` and a scope does nothing at all. Once it has, what was made from a provider is kept
until another provider takes its place.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from opentelemetry import _logs, metrics, trace

from lovia_otel import names
from lovia_otel._forking import renew_in_child
from lovia_otel.metrics import Instruments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Providers:
    """Providers that this package uses instead of the process-wide ones; ``None``: those."""

    tracer_provider: trace.TracerProvider | None = None
    meter_provider: metrics.MeterProvider | None = None
    logger_provider: _logs.LoggerProvider | None = None


class _Current:
    """The providers in force. One for the process, since worker threads must see it too."""

    def __init__(self) -> None:
        self.providers = Providers()


_current = _Current()


def current() -> Providers:
    """Return the providers in force, as the very object that was set."""
    return _current.providers


def set_providers(providers: Providers) -> Providers:
    """Use ``providers`` from now on, in every thread, and return those that were in force."""
    previous = _current.providers
    _current.providers = providers
    return previous


@contextmanager
def use_providers(
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    logger_provider: _logs.LoggerProvider | None = None,
) -> Iterator[None]:
    """Use these providers inside the ``with`` block, in every thread; ``None``: the global one.

    The process-wide OpenTelemetry providers can be set only once; this is how a test, or an
    application with a pipeline of its own for agents, directs the telemetry of this package.
    """
    previous = set_providers(Providers(tracer_provider, meter_provider, logger_provider))
    try:
        yield
    finally:
        set_providers(previous)


def restore_providers(mine: Providers, previous: Providers) -> None:
    """Put ``previous`` back in force, unless somebody else has replaced ``mine`` since."""
    if _current.providers is mine:
        _current.providers = previous


class _PerProvider(Generic[P, T]):
    """What was made from a provider, kept until it is asked for another one."""

    def __init__(self, make: Callable[[P], T | None]) -> None:
        self._make = make
        self._made: tuple[P, T | None] | None = None
        self.begin_anew()
        renew_in_child(self)

    def begin_anew(self) -> None:
        """Have a lock that nobody holds, in a forked process."""
        self._lock = threading.Lock()

    def of(self, provider: P) -> T | None:
        made = self._made
        if made is not None and made[0] is provider:
            return made[1]
        with self._lock:
            made = (provider, self._make(provider))
            self._made = made
            return made[1]


def tracer() -> trace.Tracer | None:
    """Return the tracer to use, or ``None`` when no SDK is installed."""
    return _tracers.of(_current.providers.tracer_provider or trace.get_tracer_provider())


def instruments() -> Instruments | None:
    """Return the instruments to record on, or ``None`` when no SDK is installed."""
    return _instruments.of(_current.providers.meter_provider or metrics.get_meter_provider())


def logger() -> _logs.Logger | None:
    """Return the logger that emits events, or ``None`` when no SDK is installed."""
    return _loggers.of(_current.providers.logger_provider or _logs.get_logger_provider())


def recording() -> bool:
    """Is an SDK installed for any of the three signals?"""
    return tracer() is not None or instruments() is not None or logger() is not None


def _tracer_of(provider: trace.TracerProvider) -> trace.Tracer | None:
    if is_noop(provider, trace):
        return None
    return provider.get_tracer(names.SCOPE_NAME, names.SCOPE_VERSION, names.SCHEMA_URL)


def _instruments_of(provider: metrics.MeterProvider) -> Instruments | None:
    if is_noop(provider, metrics):
        return None
    return Instruments(provider.get_meter(names.SCOPE_NAME, names.SCOPE_VERSION, names.SCHEMA_URL))


def _logger_of(provider: _logs.LoggerProvider) -> _logs.Logger | None:
    if is_noop(provider, _logs):
        return None
    return provider.get_logger(names.SCOPE_NAME, names.SCOPE_VERSION, names.SCHEMA_URL)


_tracers = _PerProvider(_tracer_of)
_instruments = _PerProvider(_instruments_of)
_loggers = _PerProvider(_logger_of)


def is_noop(provider: object, api: ModuleType) -> bool:
    """Is this one of the API's own providers? None of them records anything."""
    return f"{type(provider).__module__}.".startswith(f"{api.__name__}.")
