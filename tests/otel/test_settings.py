"""What a configuration asks for, from arguments and from the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lovia_otel import CaptureMode, ConfigurationError
from lovia_otel._settings import (
    SIGNALS,
    Capture,
    Destinations,
    Signal,
    endpoint_of,
    mode_of,
    protocol_of,
    resource_of,
)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start from an environment without any `OTEL_` variable."""
    for variable in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(variable)


def destinations(
    endpoint: str | None = None, file: str | None = None, *, console: bool = False
) -> tuple[tuple[Signal, ...], bool]:
    """Resolve destinations."""
    path = None if file is None else Path(file)
    return Destinations(endpoint=endpoint, file=path, console=console).resolved()


@pytest.mark.parametrize(
    ("arguments", "environment", "otlp", "console"),
    [
        pytest.param({}, {}, SIGNALS, False, id="nothing named: OTLP to localhost"),
        pytest.param({"endpoint": "http://h"}, {}, SIGNALS, False, id="an endpoint"),
        pytest.param({"file": "x"}, {}, (), False, id="a file alone"),
        pytest.param({"console": True}, {}, (), True, id="the console alone"),
        pytest.param(
            {"file": "x"},
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"},
            SIGNALS,
            False,
            id="a file, and the environment's endpoint",
        ),
        pytest.param(
            {"file": "x"},
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h"},
            SIGNALS,
            False,
            id="a file, and one signal's endpoint",
        ),
        pytest.param({}, {"OTEL_TRACES_EXPORTER": "console"}, (), True, id="console by variable"),
        pytest.param(
            {},
            {"OTEL_TRACES_EXPORTER": "otlp, console"},
            SIGNALS,
            True,
            id="both by variable",
        ),
        pytest.param(
            {},
            {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "None"},
            ("traces",),
            False,
            id="signals switched off",
        ),
        pytest.param(
            {"endpoint": "http://h"},
            {"OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "console"},
            ("traces", "logs"),
            False,
            id="an argument wins, but for what is switched off",
        ),
        pytest.param(
            {},
            dict.fromkeys([f"OTEL_{s.upper()}_EXPORTER" for s in SIGNALS], "none"),
            (),
            False,
            id="everything switched off",
        ),
    ],
)
def test_where_telemetry_goes(
    monkeypatch: pytest.MonkeyPatch,
    arguments: dict[str, object],
    environment: dict[str, str],
    otlp: tuple[Signal, ...],
    console: bool,
) -> None:
    """Arguments name destinations, variables fill in and switch off, OTLP is what is left."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert destinations(**arguments) == (otlp, console)  # type: ignore[arg-type]


def test_an_exporter_that_is_not_set_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variable, what it says, and what it may say."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(ConfigurationError, match="OTEL_TRACES_EXPORTER names zipkin") as caught:
        destinations()
    assert "otlp, console or none" in caught.value.hint


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://h", "http://", "", "//h", "/v1/traces"])
def test_an_endpoint_is_a_url(url: str) -> None:
    """A base URL without a scheme or host is refused, with an example."""
    with pytest.raises(ConfigurationError, match="endpoint") as caught:
        endpoint_of(url)
    assert "http://localhost:4318" in caught.value.hint


def test_the_protocol_comes_from_argument_variable_or_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HTTP is the default, a variable changes it, an argument wins, and nonsense is refused."""
    assert protocol_of(None) == "http/protobuf"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert protocol_of(None) == "grpc"
    assert protocol_of("http/protobuf") == "http/protobuf"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    with pytest.raises(ConfigurationError, match="http/json"):
        protocol_of(None)


@pytest.mark.parametrize(
    ("capture", "mode"),
    [
        (None, None),
        (True, CaptureMode.SPAN_AND_EVENT),
        (False, CaptureMode.NO_CONTENT),
        ("span_only", CaptureMode.SPAN_ONLY),
        (CaptureMode.EVENT_ONLY, CaptureMode.EVENT_ONLY),
    ],
)
def test_capture_is_a_mode(capture: Capture, mode: CaptureMode | None) -> None:
    """A mode, its name, or everything and nothing; `None` leaves it to the environment."""
    assert mode_of(capture) is mode


def test_an_unknown_mode_is_refused() -> None:
    """A typing error in a setting about privacy is never guessed at."""
    with pytest.raises(ConfigurationError, match="SPANS"):
        mode_of("SPANS")


def test_resource_attributes_compare_by_content() -> None:
    """The order in which attributes are given makes no difference."""
    assert resource_of({"b": 1, "a": "x"}) == resource_of({"a": "x", "b": 1})
    assert resource_of(None) == ()
