"""What a call of ``configure`` asks for, with the environment's part resolved and checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast
from urllib.parse import urlsplit

from lovia_otel.content import CaptureMode, Redactor, parse_mode
from lovia_otel.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lovia_otel.prices import PriceSource

Protocol = Literal["http/protobuf", "grpc"]
Signal = Literal["traces", "metrics", "logs"]
ResourceValue = str | bool | int | float
Capture = CaptureMode | str | bool | None  # a mode, its name, everything or nothing, the default

SIGNALS: Final[tuple[Signal, ...]] = ("traces", "metrics", "logs")
_PROTOCOLS: Final = ("http/protobuf", "grpc")
_PROTOCOL_VARIABLE: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_ENDPOINT_VARIABLES: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    *(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT" for signal in SIGNALS),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One configuration. Two calls that ask for the same have equal settings.

    ``otlp`` names the signals that go to the OTLP receiver, at ``endpoint`` or, when that is
    ``None``, where the exporters' own variables say.
    """

    otlp: tuple[Signal, ...]
    endpoint: str | None
    protocol: Protocol
    file: Path | None
    console: bool
    service_name: str | None
    resource_attributes: tuple[tuple[str, ResourceValue], ...]
    mode: CaptureMode | None
    redact: Redactor | None
    prices: PriceSource | None
    set_global: bool


@dataclass(frozen=True, kw_only=True)
class Destinations:
    """Where telemetry is to go, as far as the arguments say."""

    endpoint: str | None
    file: Path | None
    console: bool

    def resolved(self) -> tuple[tuple[Signal, ...], bool]:
        """Return the signals that go over OTLP, and whether trees go to the console.

        ``OTEL_*_EXPORTER`` may say ``none`` for a signal, which always keeps it off the network.
        What else it says counts only where no argument names a destination.
        """
        chosen = {signal: _exporters(signal) for signal in SIGNALS}
        asked = set().union(*chosen.values())
        named = self.endpoint is not None or self.file is not None or self.console
        otlp = self.endpoint is not None or any(map(os.environ.get, _ENDPOINT_VARIABLES))
        if not named:
            otlp = "otlp" in asked or (not asked - {"none"})
        allowed = tuple(signal for signal in SIGNALS if "none" not in chosen[signal])
        console = self.console or (not named and "console" in chosen["traces"])
        return (allowed if otlp else (), console)


def endpoint_of(text: str | None) -> str | None:
    """Check the base URL of an OTLP receiver.

    Raises:
        ConfigurationError: it is not an http or https URL with a host.
    """
    if text is None:
        return None
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigurationError(
            f"endpoint {text!r} is not an http or https URL",
            hint="give the receiver's base URL, for example http://localhost:4318",
        )
    return text


def protocol_of(text: str | None) -> Protocol:
    """Return the protocol that is asked for, else the environment's, else ``http/protobuf``.

    Raises:
        ConfigurationError: there is no exporter for it.
    """
    chosen = text or os.environ.get(_PROTOCOL_VARIABLE) or _PROTOCOLS[0]
    if chosen not in _PROTOCOLS:
        raise ConfigurationError(
            f"OTLP protocol {chosen!r} is not supported",
            hint=f"use one of {', '.join(_PROTOCOLS)}",
        )
    return cast("Protocol", chosen)


def mode_of(capture: Capture) -> CaptureMode | None:
    """Return the capture mode that is asked for; ``None``: the environment decides.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if capture is None or isinstance(capture, CaptureMode):
        return capture
    if isinstance(capture, bool):
        return CaptureMode.SPAN_AND_EVENT if capture else CaptureMode.NO_CONTENT
    try:
        return parse_mode(capture)
    except ValueError as error:
        raise ConfigurationError(str(error), hint="see capture_content of configure()") from None


def resource_of(
    attributes: Mapping[str, ResourceValue] | None,
) -> tuple[tuple[str, ResourceValue], ...]:
    """Return resource attributes in an order that makes equal settings equal."""
    return tuple(sorted((attributes or {}).items()))


def _exporters(signal: Signal) -> set[str]:
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    asked = {name.strip().lower() for name in os.environ.get(variable, "").split(",")} - {""}
    unknown = asked - {"otlp", "console", "none"}
    if unknown:
        raise ConfigurationError(
            f"{variable} names {', '.join(sorted(unknown))}, which configure() does not set up",
            hint="use otlp, console or none, or set the SDK up yourself",
        )
    return asked
