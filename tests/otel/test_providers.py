"""Where tracers, meters and loggers come from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from lovia_otel import names, providers, use_providers

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


@pytest.mark.usefixtures("no_sdk")
def test_the_apis_noop_providers_count_as_none() -> None:
    """What records nothing is not asked to, so a scope does no work at all."""
    assert providers.tracer() is None
    assert providers.instruments() is None
    assert providers.logger() is None


def test_the_apis_proxies_count_as_none() -> None:
    """So do the stand-ins that the API has for providers that were never set."""
    assert providers.is_noop(trace.ProxyTracerProvider(), trace)
    assert not providers.is_noop(object(), trace)


def test_what_was_made_is_kept(telemetry: Telemetry) -> None:
    """The same provider gives the same tracer and instruments, another one gives others."""
    tracer, instruments = providers.tracer(), providers.instruments()
    assert tracer is not None
    assert providers.tracer() is tracer
    assert providers.instruments() is instruments
    with use_providers(tracer_provider=TracerProvider(shutdown_on_exit=False)):
        assert providers.tracer() not in {None, tracer}
    assert providers.tracer() is not None
    assert providers.instruments() is not None


def test_a_tracer_carries_scope_version_and_schema(telemetry: Telemetry) -> None:
    """What is recorded says by whom, in which version, and by which conventions."""
    tracer = providers.tracer()
    assert tracer is not None
    tracer.start_span("x").end()
    scope = telemetry.spans["x"].instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.version, scope.schema_url) == (
        names.SCOPE_NAME,
        names.SCOPE_VERSION,
        names.SCHEMA_URL,
    )


def test_providers_are_in_force_in_every_thread(telemetry: Telemetry) -> None:
    """A worker thread uses the providers that the main thread set."""
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(providers.tracer()))
    thread.start()
    thread.join()
    assert seen == [providers.tracer()]


def test_restoring_leaves_what_others_set(telemetry: Telemetry) -> None:
    """Whoever ends does not undo a set-up that came after."""
    mine, later = providers.Providers(), providers.Providers(telemetry.tracer_provider)
    before = providers.set_providers(mine)
    providers.set_providers(later)
    providers.restore_providers(mine, before)
    assert providers.set_providers(before) is later
