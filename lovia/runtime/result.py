"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.transcript.messages import entries_to_messages
from lovia.usage import Usage

if TYPE_CHECKING:
    from lovia.runtime.agent import Agent
    from lovia.runtime.state import RunState
    from lovia.transcript.entries import TranscriptEntry
    from lovia.transcript.messages import Message

__all__ = ["RunResult"]


@dataclass
class RunResult:
    """The result of a completed run.

    Attributes:
        output: The final answer.
        entries: The run's own part of the transcript: its input and everything it added.
        final_agent: The agent that answered.
        usage: What all model calls of the run spent; ``usage.summary`` is the summaries' share.
        turns: Turns made, each one model call that was answered.
        finish_reason: The provider's word for why the last answer ended.
        last_input_tokens: Prompt tokens of the last model call, as the provider counted them.
        run_id: Names the run.
    """

    output: Any
    entries: list[TranscriptEntry] = field(repr=False)
    final_agent: Agent[Any] = field(repr=False)
    usage: Usage = field(default_factory=Usage)
    turns: int = 0
    finish_reason: str | None = None
    last_input_tokens: int | None = None
    run_id: str | None = None

    @property
    def messages(self) -> list[Message]:
        """The entries as chat messages: a new list, which may be the input of another run."""
        return entries_to_messages(self.entries)

    @classmethod
    def of(cls, run: RunState, output: Any) -> RunResult:
        """Return the result of a run that answered with ``output``."""
        ctx = run.ctx
        return cls(
            output=output,
            entries=ctx.entries[run.own_start :],
            final_agent=ctx.agent,
            usage=ctx.usage,
            turns=ctx.turn,
            finish_reason=run.finish_reason,
            last_input_tokens=run.last_input_tokens,
            run_id=ctx.run_id,
        )
