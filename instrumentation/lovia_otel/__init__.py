"""Telemetry for agent runtimes and their context compaction, on the OpenTelemetry API alone."""

from __future__ import annotations

from lovia_otel.counters import record_cancellation, record_handoff
from lovia_otel.providers import use_providers
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

__all__ = [
    "ArchiveScope",
    "ChatScope",
    "ChatSizes",
    "CheckpointScope",
    "FoldScope",
    "PassScope",
    "RunScope",
    "Scope",
    "StageScope",
    "ToolScope",
    "TurnScope",
    "archive_scope",
    "chat_scope",
    "checkpoint_scope",
    "fold_scope",
    "pass_scope",
    "record_cancellation",
    "record_handoff",
    "run_scope",
    "stage_scope",
    "tool_scope",
    "turn_scope",
    "use_providers",
]
