"""What a context policy is: it turns the transcript into the view that one model call sees.

The words used here and everywhere: the *transcript* is everything that was said and is never
edited; a *view* is a new list that one call sends; *history* is the size of the whole transcript as
a request, *request* the size of what is really sent, *freed* what one pass took off the request,
and *saved* the difference per call between min(history, window) and the request.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lovia.events.facts import (
    ArchiveRef,
    CompactionReason,
    PassOutcome,
    StageOutcome,
    StageRecord,
    ViewKind,
)
from lovia.usage import RunBudget, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.cancellation import CancelToken
    from lovia.errors import ContextOverflowError
    from lovia.events import ContextEvent
    from lovia.tokens.counter import TokenCounter, TokenSource
    from lovia.transcript.entries import TranscriptEntry

__all__ = [
    "ArchiveRef",
    "CompactionReason",
    "ContextPolicy",
    "ContextPolicyResult",
    "ContextSizes",
    "ContextStage",
    "PassOutcome",
    "PolicyContext",
    "Pressure",
    "ReactiveContextPolicy",
    "StageOutcome",
    "StageRecord",
    "StageResult",
    "ViewKind",
]


@dataclass(frozen=True, slots=True)
class ContextSizes:
    """The sizes around one model call, in tokens.

    Attributes:
        history: The whole transcript as a request, as if nothing was ever compacted.
        request_before: This request without this pass.
        request_after: This request with it.
        window: The model's context window, or ``None`` when nobody knows it.
        source: Where the sizes come from.
    """

    history: int
    request_before: int
    request_after: int
    window: int | None = None
    source: TokenSource = "bytes"

    @property
    def freed(self) -> int:
        """What this pass took off the request; negative when it grew."""
        return self.request_before - self.request_after

    @property
    def saved(self) -> int | None:
        """What this call saves against sending the history, capped at the window."""
        if self.window is None:
            return None
        return min(self.history, self.window) - self.request_after


@dataclass(frozen=True)
class Pressure:
    """What the pipeline tells its stages about the request in hand.

    Attributes:
        trigger: Request tokens above which compaction acts, or ``None`` without a known window.
        target: Request tokens that it aims for, or ``None``.
        window: The model's context window in tokens, or ``None``.
        request: Request tokens now.
        counter: The counter of this pass.
        scale: Provider tokens per counted token; ``request`` and the limits are in provider tokens.
        reason: Why the pass runs: ``threshold``, ``entries``, ``batch``, ``overflow`` or
            ``manual``.
        reactive: Whether the provider already refused this request.
        engaged: Whether the request was above the trigger (or compaction was asked for), so that
            stages go on down to the target.
        protected: Positions in the stage's input that have to stay as they are.
        focus: What a requested summary should dwell on, or ``None``.
        pass_id: Names the pass in events and telemetry.
        source: Where the stage's input comes from, for lovia's own stages, which also read the
            transcript behind it (a :class:`~lovia.context.view.source.Source`).
        keep: Hands over how to make a view that is to be kept should the stage be interrupted.
    """

    trigger: int | None
    target: int | None
    window: int | None
    request: int
    counter: TokenCounter
    scale: float = 1.0
    reason: str = "threshold"
    reactive: bool = False
    engaged: bool = False
    protected: frozenset[int] = frozenset()
    focus: str | None = None
    pass_id: str | None = None
    source: object | None = None
    keep: Callable[[Callable[[], list[TranscriptEntry]]], None] | None = None

    @property
    def over_trigger(self) -> bool:
        """Whether the request is above the trigger."""
        return self.trigger is not None and self.request > self.trigger

    @property
    def over_target(self) -> bool:
        """Whether the request is still above what the pass aims for."""
        return self.target is not None and self.request > self.target

    @property
    def over_window(self) -> bool:
        """Whether the request does not fit the window as far as anyone knows."""
        return self.window is not None and self.request > self.window

    def entry_size(self, entry: TranscriptEntry) -> int:
        """Return the tokens of one entry, on the scale of ``request``."""
        return round(self.counter.entry(entry) * self.scale)

    def size(self, entries: Sequence[TranscriptEntry]) -> int:
        """Return the tokens of some entries, on the scale of ``request``."""
        return round(self.counter.entries(entries) * self.scale)


@dataclass
class PolicyContext:
    """Everything that a policy may know about the call it prepares.

    Attributes:
        provider: The provider that will be called.
        model: The model that will answer.
        last_input_tokens: Prompt tokens of the last single call as the provider counted them;
            ``None`` before the first call and after a pass changed the view.
        session_id: The conversation.
        run_id: The run.
        agent: The active agent's name.
        instructions: The system prompt of the request.
        tools: The request's tools (objects or schemas).
        response_format: The request's response format.
        state: JSON-safe memory of the policy; owned by the runner, saved with checkpoint and
            session.
        usage: Where a policy reports what its own model calls spend.
        cancel: The run's cancel token.
        budget: The run's budget.
        pressure: Set by the pipeline for its stages.
        emit: Receives live progress events; must not block.
        pending_calls: Ids of calls that will still be answered although more was said since; such
            a call stays as it is. Empty in a run, which has the result of every call before it asks
            for the next view. It is for hosts that go on talking while an approval is out.
    """

    provider: Any = None
    model: str | None = None
    last_input_tokens: int | None = None
    session_id: str | None = None
    run_id: str | None = None
    agent: str | None = None
    instructions: str | None = None
    tools: Sequence[Any] = ()
    response_format: Any = None
    state: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cancel: CancelToken | None = None
    budget: RunBudget | None = None
    pressure: Pressure | None = None
    emit: Callable[[ContextEvent], None] | None = None
    pending_calls: frozenset[str] = frozenset()

    def tell(self, event: ContextEvent) -> None:
        """Tell a live event to whoever listens; a listener that fails changes nothing."""
        if self.emit is not None:
            with suppress(Exception):
                self.emit(event)

    def checkpoint(self, name: str) -> None:
        """Pass a named safe point; raises ``RunCancelled`` when a stop was requested."""
        if self.cancel is not None:
            self.cancel.check(name)


@dataclass
class ContextPolicyResult:
    """The view for one model call, and what was done to get it.

    ``ContextPolicyResult(entries, changed)`` is enough; everything else has a default.

    Attributes:
        entries: The view. The caller's own list when nothing differs from the transcript.
        changed: Whether the view differs from the transcript.
        summary: Text newly produced by this pass.
        reason: The most expensive stage that changed something in this pass.
        metadata: Further facts, JSON-safe.
        outcome: The pass's outcome; ``None`` when no pass ran.
        sizes: Sizes around this call.
        stages: What each stage of the pass did.
        archive_ref: Where the entries that this pass removed are kept.
        view: Whether the view is the transcript itself, freshly compacted, or a replay of earlier
            decisions.
        usage: What this pass's own model calls spent.
        error: Why the pass failed; ``None`` unless its outcome is ``failed``.
    """

    entries: list[TranscriptEntry]
    changed: bool
    summary: str | None = None
    reason: CompactionReason | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    outcome: PassOutcome | None = None
    sizes: ContextSizes | None = None
    stages: tuple[StageRecord, ...] = ()
    archive_ref: ArchiveRef | None = None
    view: ViewKind = "original"
    usage: Usage = field(default_factory=Usage)
    error: BaseException | None = None


@dataclass
class StageResult:
    """What a stage made of its input.

    Attributes:
        entries: The new view.
        changed: Whether it differs from the input.
        tokens_freed_estimate: Tokens taken off, when the stage knows.
        note: One sentence for people.
    """

    entries: list[TranscriptEntry]
    changed: bool = False
    tokens_freed_estimate: int | None = None
    note: str | None = None


@runtime_checkable
class ContextStage(Protocol):
    """One step of a pass: a view in, a view out.

    A stage knows nothing of memory: the pipeline keeps the last view and hands it back next time,
    so a decision once made stays made. A stage has to leave its own output alone when it sees it
    again, and must not edit the list it is given.
    """

    @property
    def name(self) -> str:
        """What events and telemetry call it."""
        ...

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Return a smaller view, or the input unchanged."""
        ...


@runtime_checkable
class ContextPolicy(Protocol):
    """Decides what a model call sees of the transcript.

    A policy may also have ``apply_reactive(entries, *, ctx, error)``, called when the provider
    refused the request as too large, and ``tools()``, whose tools the runner adds to the agent's.
    """

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult | list[TranscriptEntry]:
        """Return the view of ``entries`` for the next call."""
        ...


@runtime_checkable
class ReactiveContextPolicy(ContextPolicy, Protocol):
    """A policy that can also act on a refusal."""

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult | list[TranscriptEntry]:
        """Return a smaller view after the provider refused the last one."""
        ...
