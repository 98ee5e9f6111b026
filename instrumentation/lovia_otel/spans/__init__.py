"""Scopes: one class an operation, each a span and the metrics that come of it."""

from __future__ import annotations

from lovia_otel.spans._scope import Scope
from lovia_otel.spans.chat import ChatScope, ChatSizes, chat_scope
from lovia_otel.spans.compaction import PassScope, pass_scope
from lovia_otel.spans.fold import FoldScope, fold_scope
from lovia_otel.spans.run import RunScope, TurnScope, run_scope, turn_scope
from lovia_otel.spans.stage import StageScope, stage_scope
from lovia_otel.spans.storage import (
    ArchiveScope,
    CheckpointScope,
    archive_scope,
    checkpoint_scope,
)
from lovia_otel.spans.tool import ToolScope, tool_scope

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
    "run_scope",
    "stage_scope",
    "tool_scope",
    "turn_scope",
]
