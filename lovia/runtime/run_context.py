"""What tools, hooks and instructions may know about the run they take part in."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from lovia.cancellation import CancelToken
from lovia.runtime.steering import Mailbox
from lovia.transcript.messages import entries_to_messages
from lovia.usage import RunBudget, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.runtime.agent import Agent
    from lovia.transcript.entries import TranscriptEntry
    from lovia.transcript.messages import Message

__all__ = ["RunContext", "calling"]

if TYPE_CHECKING:
    import typing_extensions

    # The type of ``deps``; who does not say it may pass anything.
    TDeps = typing_extensions.TypeVar("TDeps", default=Any)
else:
    TDeps = TypeVar("TDeps")


@dataclass
class RunContext(Generic[TDeps]):
    """The live state of one run; everybody who takes part in it gets the same instance.

    Attributes:
        deps: The object that the caller passed as ``deps``.
        entries: The transcript so far; it is read, never edited.
        agent: The agent that is active now.
        usage: What the run's model calls spent so far, summaries included.
        session_id: The conversation, when there is one.
        run_id: Names the run.
        turn: The current turn, from 1; 0 before the first.
        budget: The run's limits, when there are any.
        cancel_token: Asks the run to stop.
        mailbox: Takes messages that the run is to see in its next turn.
    """

    # Lets @tool recognise the annotation without importing the runtime.
    __lovia_run_context__: ClassVar[bool] = True

    deps: TDeps | None
    entries: list[TranscriptEntry]
    agent: Agent[Any]
    usage: Usage = field(default_factory=Usage)
    session_id: str | None = None
    run_id: str | None = None
    turn: int = 0
    budget: RunBudget | None = None
    cancel_token: CancelToken = field(default_factory=CancelToken)
    mailbox: Mailbox = field(default_factory=Mailbox)
    _system_prompt: str = field(default="", repr=False)

    @property
    def messages(self) -> list[Message]:
        """The transcript so far as chat messages: a new list, made anew each time."""
        return entries_to_messages(self.entries)

    @property
    def system_prompt(self) -> str:
        """The rendered system prompt of the active agent; empty when it has none."""
        return self._system_prompt

    @property
    def idempotency_key(self) -> str | None:
        """Names the tool call or handoff that is being made; ``None`` between calls.

        It is the same in every attempt at the call, also when a resumed run makes it again, and no
        other call's: hand it to a service that is not to do a thing twice. 32 hexadecimal digits.
        """
        ctx, key = _calling.get()
        return key if ctx is self else None


# The call that this task makes, and in whose run: calls run side by side, on one context.
_calling: ContextVar[tuple[RunContext[Any] | None, str]] = ContextVar(
    "lovia_calling", default=(None, "")
)


@contextmanager
def calling(ctx: RunContext[Any], key: str) -> Iterator[None]:
    """Make a call: inside the block it has this idempotency key."""
    token = _calling.set((ctx, key))
    try:
        yield
    finally:
        _calling.reset(token)
