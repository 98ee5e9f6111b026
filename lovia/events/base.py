"""The kinds of events, and how events show a tool call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lovia.transcript.entries import ToolCallEntry

__all__ = [
    "ContextEvent",
    "DeltaEvent",
    "ErrorEvent",
    "Event",
    "MessageEvent",
    "RunEvent",
    "ToolCall",
    "ToolEvent",
    "TransitionEvent",
    "TurnEvent",
]


@dataclass(frozen=True)
class ToolCall:
    """A call as events show it: id, tool name, and the JSON text of its arguments."""

    id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, entry: ToolCallEntry) -> ToolCall:
        """Describe a call entry."""
        return cls(id=entry.call_id, name=entry.name, arguments=entry.arguments)


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
    """Base class of failures."""


@dataclass
class ContextEvent(Event):
    """Base class of what happens to the context."""
