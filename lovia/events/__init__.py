"""Everything a run tells while it goes on, one class per kind of event."""

from __future__ import annotations

from lovia.events.base import (
    ContextEvent,
    DeltaEvent,
    ErrorEvent,
    Event,
    MessageEvent,
    RunEvent,
    ToolEvent,
    TransitionEvent,
    TurnEvent,
)
from lovia.events.context import (
    ArchiveCallback,
    CompactionEnded,
    CompactionNotice,
    CompactionStarted,
    ContextCompacted,
    SummaryFoldCompleted,
)
from lovia.events.former import former_event
from lovia.events.run import (
    ApprovalRequired,
    HandoffOccurred,
    MessageCompleted,
    ModelRetrying,
    OutputDiscarded,
    ReasoningDelta,
    RunCompleted,
    RunFailed,
    RunStarted,
    TextDelta,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallStarted,
    TurnEnded,
    TurnStarted,
    UserMessageInjected,
)
from lovia.transcript.messages import ToolCall

__all__ = [
    "ApprovalRequired",
    "ArchiveCallback",
    "CompactionEnded",
    "CompactionNotice",
    "CompactionStarted",
    "ContextCompacted",
    "ContextEvent",
    "DeltaEvent",
    "ErrorEvent",
    "Event",
    "HandoffOccurred",
    "MessageCompleted",
    "MessageEvent",
    "ModelRetrying",
    "OutputDiscarded",
    "ReasoningDelta",
    "RunCompleted",
    "RunEvent",
    "RunFailed",
    "RunStarted",
    "SummaryFoldCompleted",
    "TextDelta",
    "ToolCall",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ToolCallStarted",
    "ToolEvent",
    "TransitionEvent",
    "TurnEnded",
    "TurnEvent",
    "TurnStarted",
    "UserMessageInjected",
]


def __getattr__(name: str) -> object:
    return former_event(name, __name__)
