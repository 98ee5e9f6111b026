"""Telemetry for agent runtimes and their context compaction, on the OpenTelemetry API alone.

Scopes (``run_scope``, ``chat_scope``, ``pass_scope``, ...) put spans around operations and record
their metrics. An application calls :func:`configure` to send them somewhere; without an SDK they
cost next to nothing. :func:`read_recording` reads exported telemetry back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia_otel.bridge import EventBridge
from lovia_otel.configure import TelemetryHandle, configure
from lovia_otel.content import CaptureMode
from lovia_otel.counters import record_cancellation, record_handoff
from lovia_otel.errors import (
    ConfigurationError,
    MissingInstrumentationError,
    MissingPricesError,
    MissingSdkError,
    PriceTableError,
    RecordingFormatError,
    TelemetryError,
    UnobservableError,
)
from lovia_otel.failure import cancellations_explained
from lovia_otel.observe import observe
from lovia_otel.otlp_json import read_recording
from lovia_otel.prices import Price, PriceTable, set_prices
from lovia_otel.providers import use_providers
from lovia_otel.recording import LogEvent, MetricPoint, Recording, SpanEvent, SpanLink, SpanRecord
from lovia_otel.spans import (
    ArchiveScope,
    ChatScope,
    ChatSizes,
    CheckpointScope,
    FoldScope,
    PassScope,
    RunScope,
    Scope,
    StageScope,
    ToolScope,
    TurnScope,
    archive_scope,
    chat_scope,
    checkpoint_scope,
    fold_scope,
    pass_scope,
    run_scope,
    stage_scope,
    tool_scope,
    turn_scope,
)

if TYPE_CHECKING:
    from lovia_otel.instrumentor import LoviaInstrumentor

__all__ = [
    "ArchiveScope",
    "CaptureMode",
    "ChatScope",
    "ChatSizes",
    "CheckpointScope",
    "ConfigurationError",
    "EventBridge",
    "FoldScope",
    "LogEvent",
    "LoviaInstrumentor",
    "MetricPoint",
    "MissingInstrumentationError",
    "MissingPricesError",
    "MissingSdkError",
    "PassScope",
    "Price",
    "PriceTable",
    "PriceTableError",
    "Recording",
    "RecordingFormatError",
    "RunScope",
    "Scope",
    "SpanEvent",
    "SpanLink",
    "SpanRecord",
    "StageScope",
    "TelemetryError",
    "TelemetryHandle",
    "ToolScope",
    "TurnScope",
    "UnobservableError",
    "archive_scope",
    "cancellations_explained",
    "chat_scope",
    "checkpoint_scope",
    "configure",
    "fold_scope",
    "observe",
    "pass_scope",
    "read_recording",
    "record_cancellation",
    "record_handoff",
    "run_scope",
    "set_prices",
    "stage_scope",
    "tool_scope",
    "turn_scope",
    "use_providers",
]


def __getattr__(name: str) -> Any:
    """Load the instrumentor when it is asked for: it needs a package that only an extra brings.

    Raises:
        MissingInstrumentationError: that package is not installed.
    """
    if name != "LoviaInstrumentor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from lovia_otel.instrumentor import LoviaInstrumentor
    except ModuleNotFoundError as error:
        raise MissingInstrumentationError(
            f"LoviaInstrumentor needs opentelemetry-instrumentation: {error.name} is not installed",
            hint="pip install 'lovia-otel[auto]'",
        ) from error
    return LoviaInstrumentor
