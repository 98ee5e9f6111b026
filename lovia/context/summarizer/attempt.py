"""One model call of a summarizer: traced, cancellable, and booked however it ends."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia.providers.base import ModelSettings, Provider, model_name, provider_name
from lovia.providers.reply import ModelReply
from lovia.transcript.entries import InputEntry, text_of
from lovia_otel import ChatScope, chat_scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from lovia.context.policy import PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ask"]

#: Seconds that closing a provider's stream may take after a cancellation or an error.
_CLOSING_SECONDS: Final = 2.0


async def ask(
    provider: Provider,
    entries: Sequence[TranscriptEntry],
    *,
    ctx: PolicyContext,
    model: str | None,
    settings: ModelSettings,
    deadline: float,
) -> ModelReply:
    """Send one request and return the reply; no tools are offered.

    What the provider reports as spent goes to ``ctx.usage`` also when the call fails, is cancelled
    or dies in the middle. The checkpoint ``summary_stream`` is passed at each piece of the answer.

    Args:
        provider: Who answers.
        entries: The whole request.
        ctx: The run.
        model: The model's name, for telemetry.
        settings: How to answer.
        deadline: When to give up, on anyio's clock.

    Raises:
        TimeoutError: At the deadline.
        RunCancelled: At a checkpoint.
    """
    reply = ModelReply()
    with _scope(provider, ctx, model, settings) as scope:
        first: float | None = None
        started = time.perf_counter()
        try:
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                stream = provider.stream(list(entries), tools=None, settings=settings)
                async with _closing(stream):
                    async for delta in stream:
                        first = first or time.perf_counter() - started
                        reply.feed(delta)
                        ctx.checkpoint("summary_stream")
        finally:
            _settle(reply, scope, ctx, first)
            _show(scope, entries, reply)
    return reply


def _scope(
    provider: Provider, ctx: PolicyContext, model: str | None, settings: ModelSettings
) -> ChatScope:
    return chat_scope(
        provider=provider_name(provider),
        model=model_name(provider, model),
        purpose="summarize",
        agent=ctx.agent,
        session_id=ctx.session_id,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
    )


def _settle(reply: ModelReply, scope: ChatScope, ctx: PolicyContext, first: float | None) -> None:
    """Book what the call spent; a provider that reports nothing is booked as nothing."""
    usage = reply.usage
    if usage is None:
        scope.settle(finish_reason=reply.finish_reason, time_to_first_chunk=first)
        return
    ctx.usage.add_summary(usage)
    scope.settle(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        finish_reason=reply.finish_reason,
        time_to_first_chunk=first,
    )


def _show(scope: ChatScope, request: Sequence[TranscriptEntry], reply: ModelReply) -> None:
    """Offer what was said, for traces that may hold it; nothing is built for others."""
    scope.content(
        input_messages=lambda: [_message(entry) for entry in request],
        output_messages=lambda: [_message(entry) for entry in reply.entries()],
    )


def _message(entry: TranscriptEntry) -> dict[str, Any]:
    role = entry.role if isinstance(entry, InputEntry) else "assistant"
    return {"role": role, "parts": [{"type": "text", "content": text_of(entry)}]}


@asynccontextmanager
async def _closing(stream: Any) -> AsyncIterator[None]:
    """Close the stream afterwards if it can be closed, also when the task is being cancelled."""
    try:
        yield
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                await close()
