"""The families of events, which hooks and filters name."""

from __future__ import annotations

from dataclasses import fields

from lovia import events

FAMILIES = [
    events.RunEvent,
    events.TurnEvent,
    events.DeltaEvent,
    events.MessageEvent,
    events.ToolEvent,
    events.TransitionEvent,
    events.ContextEvent,
    events.ErrorEvent,
]
KINDS = [
    events.RunStarted,
    events.TurnStarted,
    events.TextDelta,
    events.ReasoningDelta,
    events.OutputDiscarded,
    events.MessageCompleted,
    events.UserMessageInjected,
    events.ToolCallStarted,
    events.ToolCallCompleted,
    events.ToolCallFailed,
    events.ApprovalRequired,
    events.HandoffOccurred,
    events.ContextCompacted,
    events.ModelRetrying,
    events.TurnEnded,
    events.RunCompleted,
    events.RunFailed,
]
DOCUMENTED = {
    "TurnStarted": ["agent", "turn"],
    "TextDelta": ["delta"],
    "ReasoningDelta": ["delta"],
    "MessageCompleted": ["entries"],
    "UserMessageInjected": ["content", "turn"],
    "ToolCallStarted": ["call"],
    "ToolCallCompleted": ["call", "result", "is_error", "output"],
    "ToolCallFailed": ["error", "call"],
    "HandoffOccurred": ["from_agent", "to_agent"],
    "ModelRetrying": ["error", "attempt", "max_attempts", "delay"],
    "RunCompleted": ["result"],
    "RunFailed": ["error"],
}


def main() -> None:
    """Print where each kind belongs, and that its documented fields are there."""
    for kind in KINDS:
        families = [family.__name__ for family in FAMILIES if issubclass(kind, family)]
        print(kind.__name__, issubclass(kind, events.Event), families)
    for name, documented in DOCUMENTED.items():
        there = [field.name for field in fields(getattr(events, name))]
        print(name, [field for field in documented if field in there])


main()
