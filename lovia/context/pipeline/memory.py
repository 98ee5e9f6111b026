"""What a policy remembers of its conversations, between the turns of one process.

The memory that counts is the JSON in ``ctx.state``; it survives the process. What is held here
beside it (the view, the transcript's structure, token sums) can be rebuilt from it and is kept only
so that a turn need not rebuild it.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from lovia.context.pipeline.saved import SavedMemory, StateUnusable, load, save, set_aside
from lovia.context.summarizer.breaker import Breaker
from lovia.context.view.session import SessionView
from lovia.context.view.validity import allowed_decisions
from lovia.errors import InvalidViewError
from lovia.transcript.digest import PrefixChain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lovia.context.pipeline.sizing import ModelFacts
    from lovia.context.policy import PolicyContext
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Flights", "MemoryStore", "SessionMemory", "Stall"]

_REVISION = "revision"


@dataclass(frozen=True, slots=True)
class Stall:
    """Passes that changed nothing worth their while, and the request they saw.

    Attributes:
        count: Such passes in a row.
        tokens: Request tokens at the last of them.
        entries: Entries of the view at the last of them.
        waiting: Whether the circuit breaker kept the last of them from trying a summary.
    """

    count: int
    tokens: int
    entries: int
    waiting: bool = False


@dataclass
class SessionMemory:
    """One conversation in this process.

    Attributes:
        lineage: Identifies the conversation's state through all its versions.
        version: Counts the changes of the saved state.
        session_id: The session, as far as known.
        view: The sticky view.
        breaker: The summarizer's circuit breaker.
        models: What was learned, by provider and model.
        stall: Useless passes in a row, or ``None``.
        sent: How many entries of the transcript a request was prepared from.
        last_raw: Counted tokens of the request that was prepared last.
        last_model: The model that it was prepared for.
        last_count: The provider's count that was learned from last.
        stale_count: A count of the provider that speaks of no request as they are now.
        overhead: Counted tokens beside the entries, with the request parts they were counted for.
    """

    lineage: str = field(default_factory=lambda: secrets.token_hex(8))
    version: int = 0
    session_id: str | None = None
    view: SessionView = field(default_factory=SessionView)
    breaker: Breaker = field(default_factory=Breaker)
    models: dict[str, ModelFacts] = field(default_factory=dict)
    stall: Stall | None = None
    sent: int = 0
    last_model: str | None = None
    last_raw: int | None = None
    last_count: int | None = None
    stale_count: int | None = None
    overhead: tuple[Any, int] | None = None
    chain: PrefixChain = field(default_factory=PrefixChain)

    def chain_value(self, length: int) -> bytes:
        """Return the digest of the first ``length`` entries; hashes only what is new."""
        if len(self.chain) < length:
            self.chain.extend(self.view.transcript[len(self.chain) : length])
        return self.chain.value(length)

    def prepared(self, model: str, raw: int) -> None:
        """Take note of a request that is ready to be sent: for whom, and its counted tokens."""
        self.sent = len(self.view.transcript)
        self.last_model, self.last_raw = model, raw

    def saved(self) -> dict[str, Any]:
        """Return the JSON-safe form that outlives the process."""
        decisions = self.view.decisions
        return save(
            SavedMemory(
                lineage=self.lineage,
                version=self.version,
                decisions=decisions,
                archived=self.view.archived,
                chain=self.chain_value(decisions.upto).hex(),
                breaker=self.breaker,
                models=self.models,
                sent=self.sent,
            )
        )

    def request_overhead(self, ctx: PolicyContext, counter: TokenCounter) -> int:
        """Return the counted tokens of instructions, tools and response format, counted once."""
        key = (counter, ctx.instructions, tuple(ctx.tools), ctx.response_format)
        if self.overhead is None or self.overhead[0] != key:
            tokens = counter.overhead(
                instructions=ctx.instructions, tools=ctx.tools, response_format=ctx.response_format
            )
            self.overhead = (key, tokens)
        return self.overhead[1]


class MemoryStore:
    """Finds the memory that belongs to ``ctx.state``, and writes it back.

    A memory belongs to one state object as it is now. A copy of that state, of a conversation that
    goes on in another way, gets a memory of its own from the saved form.

    Args:
        key: Where in ``ctx.state`` the saved form lives.
        capacity: Conversations held in this process; the least recently used go first and are
            rebuilt from their saved form when they come back.
    """

    def __init__(self, key: str, capacity: int = 128) -> None:
        self.key = key
        self._capacity = capacity
        self._held: OrderedDict[tuple[int, str], SessionMemory] = OrderedDict()

    def open(
        self,
        entries: list[TranscriptEntry],
        ctx: PolicyContext,
        counter: TokenCounter,
        *,
        contended: bool = False,
    ) -> SessionMemory:
        """Return the conversation's memory, brought up to date with the transcript.

        Args:
            entries: The transcript.
            ctx: The call.
            counter: Counts tokens.
            contended: Whether another call worked on the conversation while this one waited; what
                that one decided holds here as well where it fits the transcript.
        """
        key = self._key(ctx)
        memory = self._held.get(key)
        if memory is None:
            return self._restore(entries, ctx, counter, self._decided(ctx) if contended else None)
        self._held.move_to_end(key)
        sync = memory.view.sync(entries, counter, ctx.pending_calls)
        if sync.new_from < len(memory.chain):
            memory.chain.truncate(sync.new_from)
        memory.sent = min(memory.sent, sync.new_from)
        if sync.rewritten:
            self.write(memory, ctx)
        return memory

    def write(self, memory: SessionMemory, ctx: PolicyContext) -> None:
        """Save the memory in ``ctx.state`` as a new version, in one assignment."""
        memory.version += 1
        self._hold(memory, ctx, memory.saved())

    def keep_learned(self, memory: SessionMemory, ctx: PolicyContext, model: str) -> None:
        """Save what was learned of a model where that differs from what is saved.

        A ratio that hardly moved is left for the next pass, so that not every turn writes; what is
        written here costs the same however much was decided.
        """
        facts, data = memory.models.get(model), ctx.state[self.key]
        if facts is None or not facts.differs_from(data.get("models", {}).get(model) or {}):
            return
        memory.version += 1
        models = {key: known.to_json() for key, known in memory.models.items()}
        self._hold(memory, ctx, {**data, "version": memory.version, "models": models})

    def _restore(
        self,
        entries: list[TranscriptEntry],
        ctx: PolicyContext,
        counter: TokenCounter,
        decided: dict[str, Any] | None,
    ) -> SessionMemory:
        view = SessionView()
        view.sync(entries, counter, ctx.pending_calls)
        if decided is not None:
            with suppress(StateUnusable):
                return self._hold(_rebuild(load(decided), view), ctx, decided)
        data = ctx.state.get(self.key)
        if data is not None:
            try:
                return self._hold(_rebuild(load(data), view), ctx, data)
            except StateUnusable as why:
                set_aside(ctx.state, self.key, str(why))
        memory = SessionMemory(view=view)
        return self._hold(memory, ctx, memory.saved())

    def _decided(self, ctx: PolicyContext) -> dict[str, Any] | None:
        """Return the saved form of what was decided last about the same session."""
        memories = reversed(self._held.values())
        same = (m for m in memories if ctx.session_id and m.session_id == ctx.session_id)
        latest = next(same, None)
        return None if latest is None else latest.saved()

    def _key(self, ctx: PolicyContext) -> tuple[int, str]:
        data = ctx.state.get(self.key)
        revision = data.get(_REVISION) if isinstance(data, dict) else None
        return id(ctx.state), str(revision)

    def _hold(
        self, memory: SessionMemory, ctx: PolicyContext, data: dict[str, Any]
    ) -> SessionMemory:
        """Make this the memory of ``ctx.state``, in the place of the one before; returns it."""
        self._held.pop(self._key(ctx), None)
        ctx.state[self.key] = {**data, _REVISION: secrets.token_hex(8)}
        memory.session_id = ctx.session_id
        self._held[self._key(ctx)] = memory
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
        return memory


def _rebuild(saved: SavedMemory, view: SessionView) -> SessionMemory:
    """Return the memory that a saved form describes, if it belongs to the view's transcript."""
    entries, upto = view.transcript, saved.decisions.upto
    if upto > len(entries):
        message = f"it speaks of {upto} entries, the transcript has {len(entries)}"
        raise StateUnusable(message)
    chain = PrefixChain(entries[:upto])
    if upto and chain.value(upto).hex() != saved.chain:
        message = "it belongs to another transcript, or the history was rewritten"
        raise StateUnusable(message)
    try:
        view.adopt(*allowed_decisions(saved.decisions, view))
    except InvalidViewError as error:
        message = f"a provider would refuse its view ({error})"
        raise StateUnusable(message) from error
    view.archived = saved.archived
    return SessionMemory(
        lineage=saved.lineage,
        version=saved.version,
        view=view,
        breaker=saved.breaker,
        models=saved.models,
        sent=min(saved.sent, len(entries)),
        chain=chain,
    )


class Flights:
    """Lets one call at a time work on a conversation."""

    def __init__(self) -> None:
        self._locks: dict[Any, tuple[anyio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, key: Any) -> AsyncIterator[bool]:
        """Wait for the conversation's turn; yields whether another call had it meanwhile."""
        lock, users = self._locks.get(key) or (anyio.Lock(), 0)
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield users > 0
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)
