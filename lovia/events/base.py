"""The kinds of events."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ContextEvent",
    "DeltaEvent",
    "ErrorEvent",
    "Event",
    "MessageEvent",
    "RunEvent",
    "ToolEvent",
    "TransitionEvent",
    "TurnEvent",
]


@dataclass
class Event:
    """Base class of all events."""


@dataclass
class RunEvent(Event):
    """Base class of what happens to a run as a whole."""


@dataclass
class TurnEvent(Event):
    """Base class of what happens to one turn."""


@dataclass
class DeltaEvent(Event):
    """Base class of streamed pieces; provisional until the message is completed."""


@dataclass
class MessageEvent(Event):
    """Base class of completed messages."""


@dataclass
class ToolEvent(Event):
    """Base class of what happens to a tool call."""


@dataclass
class TransitionEvent(Event):
    """Base class of changes of the active agent."""


@dataclass
class ErrorEvent(Event):
    """Base class of failures that the run may survive."""


@dataclass
class ContextEvent(Event):
    """Base class of what happens to the context."""
