"""One call of the policy, prepared: its conversation, the size of its request, and its limits."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia.context.pipeline.counters import CounterChoice
from lovia.context.pipeline.memory import Flights, MemoryStore, SessionMemory
from lovia.context.pipeline.sizing import ModelFacts, RequestSize, WindowLimits, facts_key
from lovia.context.policy import ContextSizes, PolicyContext
from lovia.providers.base import provider_window

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lovia.context.options import CompactionOptions
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Call", "CallDesk"]


@dataclass(frozen=True)
class Call:
    """What one call of the policy works on.

    Attributes:
        ctx: The call as the runner describes it.
        entries: The transcript.
        memory: The conversation.
        counter: Counts tokens.
        overhead: Counted tokens beside the entries.
        size: The request as it would be sent.
        limits: Window, trigger and target.
        model: Keys what was learned about provider and model.
    """

    ctx: PolicyContext
    entries: list[TranscriptEntry]
    memory: SessionMemory
    counter: TokenCounter
    overhead: int
    size: RequestSize
    limits: WindowLimits
    model: str

    @property
    def history(self) -> int:
        """Tokens of the whole transcript as a request."""
        return round((self.memory.view.history_tokens + self.overhead) * self.size.scale)

    def entry_tokens(self, entry: TranscriptEntry) -> int:
        """Return the tokens of one entry, as the provider counts."""
        return round(self.counter.entry(entry) * self.size.scale)

    def sizes(self, request_after: int) -> ContextSizes:
        """Return the sizes around this call."""
        return ContextSizes(
            history=self.history,
            request_before=self.size.tokens,
            request_after=request_after,
            window=self.limits.window,
            source=self.size.source,
        )


class CallDesk:
    """Prepares calls, one at a time for each conversation, and keeps what was learned of models.

    Args:
        options: The policy's settings.
        name: Keys the policy's part of ``ctx.state``.
        counter: The user's own token counter, or ``None``.

    Attributes:
        smallest_window: Tokens of the smallest context window that it met so far, or ``None``.
    """

    def __init__(self, options: CompactionOptions, *, name: str, counter: object | None) -> None:
        self._options = options
        self._store = MemoryStore(name)
        self._flights = Flights()
        self._counters = CounterChoice(counter)
        self._models: dict[str, ModelFacts] = {}
        self.smallest_window: int | None = options.context_window_tokens

    @asynccontextmanager
    async def prepared(
        self, entries: list[TranscriptEntry], ctx: PolicyContext, *, refused: bool = False
    ) -> AsyncIterator[Call]:
        """Give a call its conversation, up to date and for itself alone.

        Args:
            entries: The transcript.
            ctx: The call.
            refused: Whether the request prepared last was refused, so that no count of it exists.
        """
        counter = await self._counters.of(ctx)
        async with self._flights.turn(ctx.session_id or id(ctx.state)) as contended:
            memory = self._store.open(entries, ctx, counter, contended=contended)
            if refused:
                memory.last_raw = None
            overhead = memory.request_overhead(ctx, counter)
            model = facts_key(ctx, counter)
            size = self._measure(memory, ctx, model, memory.view.view_tokens + overhead, counter)
            self._store.keep_learned(memory, ctx, model)
            limits = self._limits(ctx, self._facts(model, memory))
            yield Call(ctx, entries, memory, counter, overhead, size, limits, model)

    def learn_from_refusal(self, call: Call, reported_window: int | None) -> WindowLimits:
        """Remember what a refusal teaches, and return the limits by it.

        Args:
            call: The call whose request, or a summary request for it, was refused.
            reported_window: The window that the refusal named; ``None``: it is taken for smaller
                than the call's request.
        """
        facts = self._facts(call.model, call.memory).rejected(call.size.tokens, reported_window)
        call.memory.models[call.model] = self._models[call.model] = facts
        return self._limits(call.ctx, facts)

    def save(self, call: Call) -> None:
        """Write the conversation's memory to ``ctx.state``."""
        self._store.write(call.memory, call.ctx)

    def _facts(self, model: str, memory: SessionMemory) -> ModelFacts:
        own, shared = memory.models.get(model), self._models.get(model)
        return (own or ModelFacts()).with_others(shared or ModelFacts())

    def _measure(
        self,
        memory: SessionMemory,
        ctx: PolicyContext,
        model: str,
        raw: int,
        counter: TokenCounter,
    ) -> RequestSize:
        """Size the request, and learn from the provider's count of the one before."""
        facts, reported = self._facts(model, memory), ctx.last_input_tokens
        if memory.last_model not in {None, model}:
            memory.stale_count = reported  # another model counted
        if reported == memory.stale_count:
            reported = None
        if reported is not None and memory.last_raw and reported != memory.last_count:
            learned = facts.observe(memory.last_raw, reported)
            memory.last_count = reported  # one count speaks of one request
            if learned != facts:
                facts = memory.models[model] = self._models[model] = learned
        return RequestSize.of(raw, facts, reported, counter.source)

    def _limits(self, ctx: PolicyContext, facts: ModelFacts) -> WindowLimits:
        options = self._options
        limits = WindowLimits.of(
            configured=options.context_window_tokens,
            stated=provider_window(ctx.provider),
            learned=facts.window,
            reserve=options.reserve_output_tokens or 0,
            trigger_ratio=options.trigger_ratio,
            target_ratio=options.target_ratio,
            trigger_tokens=options.trigger_tokens,
        )
        known = [size for size in (limits.window, self.smallest_window) if size is not None]
        self.smallest_window = min(known, default=None)
        return limits
