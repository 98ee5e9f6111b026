"""What happens to a run, its turns, messages and tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.events.base import (
    DeltaEvent,
    ErrorEvent,
    MessageEvent,
    RunEvent,
    ToolEvent,
    TransitionEvent,
    TurnEvent,
)

if TYPE_CHECKING:
    from lovia.runtime.agent import Agent
    from lovia.runtime.approvals import ApprovalChannel
    from lovia.runtime.result import RunResult
    from lovia.transcript.entries import ContentPart, TranscriptEntry
    from lovia.transcript.messages import ToolCall

__all__ = [
    "ApprovalRequired",
    "HandoffOccurred",
    "MessageCompleted",
    "ModelRetrying",
    "OutputDiscarded",
    "ReasoningDelta",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "TextDelta",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ToolCallStarted",
    "TurnEnded",
    "TurnStarted",
    "UserMessageInjected",
]


@dataclass
class RunStarted(RunEvent):
    """The run began, or was resumed."""

    agent: Agent[Any]
    run_id: str | None = None
    session_id: str | None = None
    resumed: bool = False


@dataclass
class TurnStarted(TurnEvent):
    """A turn began; turns count from 1."""

    agent: Agent[Any]
    turn: int


@dataclass
class TurnEnded(TurnEvent):
    """A turn ended: the model answered and its calls were run."""

    agent: Agent[Any]
    turn: int


@dataclass
class TextDelta(DeltaEvent):
    """A piece of the answer's text."""

    delta: str


@dataclass
class ReasoningDelta(DeltaEvent):
    """A piece of the model's reasoning, for display only."""

    delta: str


@dataclass
class OutputDiscarded(DeltaEvent):
    """The pieces streamed so far in this turn are void: the call is made again."""


@dataclass
class MessageCompleted(MessageEvent):
    """The model's turn is complete; ``entries`` is what it added to the transcript."""

    entries: list[TranscriptEntry]


@dataclass
class UserMessageInjected(MessageEvent):
    """A message that was pushed into the running agent entered the transcript."""

    content: str | list[ContentPart]
    turn: int


@dataclass
class ToolCallStarted(ToolEvent):
    """A tool begins to run."""

    call: ToolCall


@dataclass
class ToolCallCompleted(ToolEvent):
    """A call has its result; refused calls come here without having started.

    Attributes:
        call: The call.
        result: What the tool returned, or the error text.
        is_error: Whether it failed.
        output: The text that the model reads; images and files are named in it.
    """

    call: ToolCall
    result: Any
    is_error: bool = False
    output: str = ""


@dataclass
class ApprovalRequired(ToolEvent):
    """A call waits for consent; it is refused when everybody has heard this and none answered."""

    call: ToolCall
    _channel: ApprovalChannel | None = field(default=None, repr=False, compare=False)

    def approve(self) -> None:
        """Allow the call."""
        if self._channel is not None:
            self._channel.approve(self.call.id)

    def reject(self) -> None:
        """Refuse the call; the model reads that it was not approved."""
        if self._channel is not None:
            self._channel.reject(self.call.id)

    def defer(self) -> None:
        """Leave the answer for later: the run is saved and ends as suspended, until it is resumed.

        Raises:
            UserError: The run has no checkpointer, so it could not be resumed.
        """
        if self._channel is not None:
            self._channel.defer(self.call.id)


@dataclass
class ToolCallFailed(ErrorEvent):
    """A tool raised; the run goes on and the model reads an error result."""

    error: BaseException
    call: ToolCall | None = None


@dataclass
class ModelRetrying(ErrorEvent):
    """A model call failed for a while and is made again after ``delay`` seconds."""

    error: BaseException
    attempt: int
    max_attempts: int
    delay: float


@dataclass
class HandoffOccurred(TransitionEvent):
    """Another agent took over the conversation."""

    from_agent: Agent[Any]
    to_agent: Agent[Any]


@dataclass
class RunCompleted(RunEvent):
    """The run has its result; the last event of a stream that succeeded."""

    result: RunResult


@dataclass
class RunFailed(RunEvent):
    """The run ended without a result; the last event of a stream that failed."""

    error: BaseException
