"""Errors of this package. Each carries a ``hint`` that says what to do next."""

from __future__ import annotations


class TelemetryError(Exception):
    """Base class of the errors of this package; only set-up and reading raise any.

    ``hint`` says what to do next.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(f"{message} ({hint})")
        self.message = message
        self.hint = hint


class MissingSdkError(TelemetryError, ImportError):
    """The OpenTelemetry SDK, or an exporter that was asked for, is not installed."""


class MissingInstrumentationError(TelemetryError, ImportError):
    """What ``LoviaInstrumentor`` builds on is not installed."""


class ConfigurationError(TelemetryError, ValueError):
    """A setting given to ``configure``, or found in the environment, cannot be used."""


class MissingPricesError(TelemetryError, ImportError):
    """The package whose list of prices was asked for is not installed."""


class PriceTableError(ConfigurationError):
    """A table of prices cannot be read, or holds something that is no price.

    ``file`` is its path, ``place`` the keys that lead to what is wrong, joined by dots; empty: the
    file as a whole.
    """

    def __init__(self, file: str, place: str, problem: str, *, hint: str) -> None:
        where = f"{file}: {place}" if place else file
        super().__init__(f"{where}: {problem}", hint=hint)
        self.file = file
        self.place = place


class UnobservableError(TelemetryError, TypeError):
    """What was given to ``observe`` is of no kind that can be observed."""


class RecordingFormatError(TelemetryError, ValueError):
    """A line of a recording is damaged, or is not OTLP JSON.

    ``file`` is its path, ``line`` counts from 1.
    """

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(
            f"{file}, line {line}: {problem}",
            hint="expected one OTLP JSON object a line: resourceSpans, resourceMetrics or "
            "resourceLogs; read with strict=False to skip damaged lines",
        )
        self.file = file
        self.line = line
