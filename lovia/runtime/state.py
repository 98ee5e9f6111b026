"""The live state of one run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lovia.errors import BudgetExceeded
from lovia.runtime.plugins import PluginSet
from lovia.runtime.request import RequestLog
from lovia.stores import RunProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.runtime.activation import ActiveAgent
    from lovia.runtime.control import RunControl
    from lovia.runtime.emitter import Emitter
    from lovia.runtime.handoff import HandoffSlot
    from lovia.runtime.interrupt import Interrupt
    from lovia.runtime.journal import Journal
    from lovia.runtime.options import RunOptions
    from lovia.runtime.run_context import RunContext
    from lovia.runtime.turn_reply import TurnReply
    from lovia.stores import SessionMark
    from lovia.transcript.entries import ToolResultEntry, TranscriptEntry

__all__ = ["RunState", "UnmeasuredPass"]


@dataclass(frozen=True)
class UnmeasuredPass:
    """A pass whose view the provider has not counted yet; ``tokens_after`` is the estimate."""

    pass_id: str
    tokens_after: int | None


@dataclass
class RunState:
    """What a run knows of itself, beside the transcript and usage in its context.

    Attributes:
        options: What the caller asked for.
        control: What it shares with its handle.
        emitter: Tells events.
        handoff: The handoff that has fired and is not applied yet.
        active: The agent that speaks now; set when the run is set up.
        plugins: What the agents' plugins bring.
        log: What earlier requests of the run held, for sizes and prefix reuse.
        policy_state: The memory of each policy, JSON-safe, by the policy's kind.
        policy_revision: Names the content of that memory; ``None`` when it has to be found out.
        last_input_tokens: Prompt tokens of the last model call as the provider counted them;
            ``None`` before the first and after a pass changed the view.
        cache_used: Whether the provider read from or wrote to its prompt cache in the last call.
        finish_reason: Why the last answer ended, in the provider's word.
        compactions: Passes that changed the view.
        unmeasured: The last pass, until the provider has counted its view.
        repairs: Answers that did not have the requested type.
        own_start: Where in the transcript this run's own entries begin.
        asking: Whether a turn has begun and the model has not answered.
        reply: The model's last answer, until its turn is finished.
        begun: Calls of that answer that had begun when the run was saved, by their position among
            the run's own entries; with a result where one was kept.
        waiting: Calls of that answer that wait for approval, by position, with their ids.
        decisions: Answers to approvals of calls that have not begun, by position.
        tool_calls: Tool calls that count against the budget.
        turn_calls: How many of them are of that last answer.
        journal: Saves the run, or ``None``.
        session: What the run saw of its conversation, or ``None``.
        started_at: When the run first started, in seconds since the epoch.
        seconds_before: For how long it was going before it was resumed.
        traceparent: The W3C ``traceparent`` of its span, or ``None``.
    """

    options: RunOptions
    control: RunControl
    emitter: Emitter
    handoff: HandoffSlot
    active: ActiveAgent = field(init=False)
    plugins: PluginSet = field(default_factory=PluginSet)
    log: RequestLog = field(default_factory=RequestLog)
    policy_state: dict[str, dict[str, Any]] = field(default_factory=dict)
    policy_revision: str | None = None
    last_input_tokens: int | None = None
    cache_used: bool = False
    finish_reason: str | None = None
    compactions: int = 0
    unmeasured: UnmeasuredPass | None = None
    repairs: int = 0
    own_start: int = 0
    asking: bool = False
    reply: TurnReply | None = None
    begun: dict[int, ToolResultEntry | None] = field(default_factory=dict)
    waiting: dict[int, str] = field(default_factory=dict)
    decisions: dict[int, bool] = field(default_factory=dict)
    tool_calls: int = 0
    turn_calls: int = 0
    journal: Journal | None = None
    session: SessionMark | None = None
    started_at: float = field(default_factory=time.time)
    seconds_before: float = 0.0
    traceparent: str | None = None
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to measure for how long the run is going."""
        self._since = time.monotonic()

    @property
    def ctx(self) -> RunContext[Any]:
        """The context that tools, hooks and instructions see."""
        return self.control.context

    @property
    def interrupt(self) -> Interrupt:
        """The run's stop button."""
        return self.control.interrupt

    @property
    def entries(self) -> list[TranscriptEntry]:
        """The transcript."""
        return self.ctx.entries

    @property
    def answered_turns(self) -> int:
        """How many turns the model has answered; one that it has not is begun again."""
        return self.ctx.turn - self.asking

    @property
    def own_length(self) -> int:
        """How many entries the run has added, its input included."""
        return len(self.entries) - self.own_start

    def append(self, entries: Sequence[TranscriptEntry]) -> None:
        """Add entries to the transcript; nothing ever leaves it."""
        self.ctx.entries.extend(entries)

    def checkpoint(self, name: str) -> None:
        """Pass a named safe point; raises ``RunCancelled`` when a stop was requested."""
        self.ctx.cancel_token.check(name)

    async def save(self) -> None:
        """Save what was added since the last save; a safe point, and nothing without a journal."""
        if self.journal is not None:
            self.checkpoint("checkpoint_save")
            await self.journal.save(self)

    def check_budget(self) -> None:
        """Raise ``BudgetExceeded`` when one of the run's limits is spent."""
        if self.ctx.budget is not None:
            self.ctx.budget.check(self.ctx.usage)

    def admit_call(self) -> None:
        """Count a call that is about to be looked at; raises ``BudgetExceeded`` when it is over."""
        self.count_calls(1)
        try:
            self.check_budget()
        except BudgetExceeded:
            self.count_calls(-1)  # it is admitted when the run is resumed with a raised limit
            raise

    def readmit_call(self) -> None:
        """Take a call back that has to be looked at again when the run is resumed."""
        self.count_calls(-1)

    def key_of(self, position: int) -> str:
        """Return the idempotency key of a call, by its position among the run's own entries.

        When the run first started is part of it: a run that was begun anew makes other calls.
        """
        name = f"{self.ctx.run_id}\n{self.started_at!r}\n{position}"
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def progress(self) -> RunProgress:
        """Return how far the run is, as it is saved."""
        return RunProgress(
            reply_at=None if self.reply is None else self.reply.start,
            waiting=tuple(self.waiting),
            decisions={str(at): answer for at, answer in self.decisions.items()} or None,
            repairs=self.repairs,
            tool_calls=self.tool_calls,
            turn_calls=0 if self.reply is None else self.turn_calls,
            seconds=self.seconds_before + time.monotonic() - self._since,
            finish_reason=self.finish_reason,
            traceparent=self.traceparent,
        )

    def count_calls(self, number: int) -> None:
        """Count calls that were admitted, here and in the budget."""
        self.tool_calls += number
        self.turn_calls += number
        if self.ctx.budget is not None:
            self.ctx.budget.tool_calls += number
