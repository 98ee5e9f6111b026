"""The live state of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.runtime.request import RequestLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.runtime.activation import ActiveAgent
    from lovia.runtime.control import RunControl
    from lovia.runtime.emitter import Emitter
    from lovia.runtime.handoff import HandoffSlot
    from lovia.runtime.interrupt import Interrupt
    from lovia.runtime.options import RunOptions
    from lovia.runtime.run_context import RunContext
    from lovia.transcript.entries import TranscriptEntry

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
        log: What earlier requests of the run held, for sizes and prefix reuse.
        policy_state: The memory of each policy, JSON-safe, by the policy's kind.
        last_input_tokens: Prompt tokens of the last model call as the provider counted them;
            ``None`` before the first and after a pass changed the view.
        finish_reason: Why the last answer ended, in the provider's word.
        compactions: Passes that changed the view.
        unmeasured: The last pass, until the provider has counted its view.
        repairs: Answers that did not have the requested type.
        own_start: Where in the transcript this run's own entries begin.
    """

    options: RunOptions
    control: RunControl
    emitter: Emitter
    handoff: HandoffSlot
    active: ActiveAgent = field(init=False)
    log: RequestLog = field(default_factory=RequestLog)
    policy_state: dict[str, dict[str, Any]] = field(default_factory=dict)
    last_input_tokens: int | None = None
    finish_reason: str | None = None
    compactions: int = 0
    unmeasured: UnmeasuredPass | None = None
    repairs: int = 0
    own_start: int = 0

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

    def append(self, entries: Sequence[TranscriptEntry]) -> None:
        """Add entries to the transcript; nothing ever leaves it."""
        self.ctx.entries.extend(entries)

    def checkpoint(self, name: str) -> None:
        """Pass a named safe point; raises ``RunCancelled`` when a stop was requested."""
        self.ctx.cancel_token.check(name)

    def check_budget(self) -> None:
        """Raise ``BudgetExceeded`` when one of the run's limits is spent."""
        if self.ctx.budget is not None:
            self.ctx.budget.check(self.ctx.usage)
