"""Everything a run tells while it goes on, one class per kind of event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from lovia.usage import Usage

if TYPE_CHECKING:
    from lovia.context.policy import ArchiveRef, ContextPolicyResult, PolicyContext, StageRecord
    from lovia.runtime.agent import Agent
    from lovia.runtime.approvals import ApprovalChannel
    from lovia.runtime.handle import RunResult
    from lovia.transcript.entries import ContentPart, ToolCallEntry, TranscriptEntry

__all__ = [
    "ApprovalRequired",
    "ArchiveCallback",
    "CompactionEnded",
    "CompactionNotice",
    "CompactionStarted",
    "ContextCompacted",
    "ContextEvent",
    "Event",
    "HandoffOccurred",
    "MessageCompleted",
    "ModelRetrying",
    "OutputDiscarded",
    "ReasoningDelta",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "SummaryFoldCompleted",
    "TextDelta",
    "ToolCall",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ToolCallStarted",
    "TurnEnded",
    "TurnStarted",
    "UserMessageInjected",
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
        output: The text that the model reads.
    """

    call: ToolCall
    result: Any
    is_error: bool = False
    output: str = ""


@dataclass
class ApprovalRequired(ToolEvent):
    """A call waits for consent; it is refused when everybody has heard this and none allowed it."""

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
class RunFailed(ErrorEvent):
    """The run ended without a result; the last event of a stream that failed."""

    error: BaseException


@dataclass(frozen=True)
class CompactionNotice:
    """What one compaction did, JSON-safe and fit to be shown to people.

    Attributes:
        reason: The most expensive stage that acted.
        reactive: Whether the provider had refused the request.
        summary: The new summary, or ``None``.
        tokens_before: Request tokens without this pass.
        tokens_after: Request tokens with it.
        history_tokens: The whole transcript as a request.
        detail: One sentence for each stage that acted.
    """

    reason: str | None
    reactive: bool
    summary: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    history_tokens: int | None = None
    detail: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in one plain sentence."""
        lead = (
            "The provider refused the request; context compacted"
            if self.reactive
            else "Context compacted"
        )
        why = f" ({self.reason})" if self.reason else ""
        if self.tokens_before is None or self.tokens_after is None:
            return f"{lead}{why}."
        freed = self.tokens_before - self.tokens_after
        before, after = _thousands(self.tokens_before), _thousands(self.tokens_after)
        text = f"{lead}{why}: request {before} -> {after} tokens, freed {_thousands(freed)}"
        if self.history_tokens is not None:
            text += f"; history {_thousands(self.history_tokens)}"
        return text + "."


@dataclass
class ContextCompacted(ContextEvent):
    """A pass changed what the model sees.

    Attributes:
        session_id: The conversation.
        entries_before: The transcript; it stays the truth.
        entries_after: The view of it that is sent.
        summary: Text newly produced by the pass.
        reactive: Whether the provider had refused the request.
        reason: The most expensive stage that acted.
        archive_ref: Where the entries that the pass removed are kept.
        tokens_before_estimate: This request without this pass.
        tokens_after_estimate: This request with it.
        history_tokens_estimate: The whole transcript as a request.
        run_id: The run.
        agent: The active agent's name.
        outcome: The pass's outcome.
        stages: What each stage did.
        usage: What the pass's own model calls spent.
        pass_id: The pass, as telemetry names it.
    """

    session_id: str | None
    entries_before: list[TranscriptEntry]
    entries_after: list[TranscriptEntry]
    summary: str | None = None
    reactive: bool = False
    reason: str | None = None
    archive_ref: ArchiveRef | None = None
    tokens_before_estimate: int | None = None
    tokens_after_estimate: int | None = None
    history_tokens_estimate: int | None = None
    run_id: str | None = None
    agent: str | None = None
    outcome: str | None = None
    stages: tuple[StageRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    pass_id: str | None = None

    @classmethod
    def of(
        cls,
        result: ContextPolicyResult,
        transcript: list[TranscriptEntry],
        *,
        ctx: PolicyContext,
        reactive: bool,
    ) -> ContextCompacted:
        """Describe a policy's result; its lists are copied, so later turns leave it alone."""
        sizes = result.sizes
        return cls(
            session_id=ctx.session_id,
            entries_before=list(transcript),
            entries_after=list(result.entries),
            summary=result.summary,
            reactive=reactive,
            reason=result.reason,
            archive_ref=result.archive_ref,
            tokens_before_estimate=sizes.request_before if sizes else None,
            tokens_after_estimate=sizes.request_after if sizes else None,
            history_tokens_estimate=sizes.history if sizes else None,
            run_id=ctx.run_id,
            agent=ctx.agent,
            outcome=result.outcome,
            stages=result.stages,
            usage=result.usage,
            pass_id=result.metadata.get("pass_id"),
        )

    @property
    def freed(self) -> int | None:
        """Tokens that the pass took off the request."""
        if self.tokens_before_estimate is None or self.tokens_after_estimate is None:
            return None
        return self.tokens_before_estimate - self.tokens_after_estimate

    @property
    def notice(self) -> CompactionNotice:
        """The same, for people."""
        return CompactionNotice(
            reason=self.reason,
            reactive=self.reactive,
            summary=self.summary,
            tokens_before=self.tokens_before_estimate,
            tokens_after=self.tokens_after_estimate,
            history_tokens=self.history_tokens_estimate,
            detail=tuple(
                f"{s.name}: {s.note}" for s in self.stages if s.note and s.outcome == "applied"
            ),
        )


@dataclass
class CompactionStarted(ContextEvent):
    """A pass begins.

    Attributes:
        pass_id: Names the pass in later events and in telemetry.
        trigger: ``threshold``, ``entries``, ``batch``, ``overflow`` or ``manual``.
        tokens_before: Request tokens without the pass.
        session_id: The conversation.
    """

    pass_id: str
    trigger: str
    tokens_before: int
    session_id: str | None = None


@dataclass
class SummaryFoldCompleted(ContextEvent):
    """One fold of a summary is done: the ``index``-th (from 1) of about ``planned``."""

    index: int
    planned: int
    usage: Usage
    pass_id: str | None = None


@dataclass
class CompactionEnded(ContextEvent):
    """A pass ended, with its outcome."""

    outcome: str
    pass_id: str | None = None
    tokens_after: int | None = None


ArchiveCallback: TypeAlias = Callable[[ContextCompacted], Awaitable[None]]


def _thousands(tokens: int) -> str:
    """Shorten a token count: 152_340 -> 152k."""
    return f"{tokens / 1000:.0f}k" if abs(tokens) >= 10_000 else f"{tokens:,}"  # noqa: PLR2004 - five digits
