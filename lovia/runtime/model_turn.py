"""One answer of the model: the request, retries of failed calls, and refusals for size."""

from __future__ import annotations

import itertools
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from lovia import events
from lovia.errors import BudgetExceeded, ContextOverflowError, RunCancelled
from lovia.providers.reply import ModelReply
from lovia.runtime.context_call import prepare_request, shrink_request
from lovia.runtime.policies import max_reactive_retries
from lovia.transcript.deltas import ModelDelta, ReasoningDelta, TextDelta
from lovia_otel import ChatScope, ChatSizes, chat_scope

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from lovia.runtime.request import ModelRequest
    from lovia.runtime.state import RunState

__all__ = ["model_turn"]


async def model_turn(run: RunState) -> ModelReply:
    """Get the model's next answer.

    Raises:
        ContextOverflowError: The request was refused as too large, and the policy has no smaller
            one.
    """
    request = await prepare_request(run)
    for refusals in itertools.count(1):
        try:
            return await _call_with_retries(run, request)
        except ContextOverflowError as overflow:
            smaller = await _shrink(run, request, overflow, refusals)
            if smaller is None:
                raise
            request = smaller
    raise AssertionError("unreachable")


async def _shrink(
    run: RunState, request: ModelRequest, overflow: ContextOverflowError, refusals: int
) -> ModelRequest | None:
    """Return a smaller request, or ``None`` when there is none or it is too late for one."""
    if refusals > max_reactive_retries(run.active.policy):
        return None
    try:
        return await shrink_request(run, request, overflow)
    except (RunCancelled, BudgetExceeded):
        raise
    except Exception as error:
        # The refusal is what the caller has to know; why it could not be helped is its cause.
        raise overflow from error


async def _call_with_retries(run: RunState, request: ModelRequest) -> ModelReply:
    retry = run.active.retry
    for attempt in itertools.count(1):
        reply = ModelReply()
        try:
            await _call(run, request, reply)
        except Exception as error:
            partial = bool(reply.entries())
            if retry is None or attempt >= retry.max_attempts or not retry.retry_on(error):
                raise
            if partial and not retry.restart_on_partial:
                raise
            if partial:
                await run.emitter.emit(events.OutputDiscarded())
            delay = retry.backoff_delay(attempt, error)
            await run.emitter.emit(events.ModelRetrying(error, attempt, retry.max_attempts, delay))
            with run.interrupt.allowed("model_stream"):
                await retry.sleep(delay)
        else:
            return reply
    raise AssertionError("unreachable")


async def _call(run: RunState, request: ModelRequest, reply: ModelReply) -> None:
    """Make one model call; what it reports counts however it ends."""
    with _scope(run, request) as scope:
        started = time.perf_counter()
        first: float | None = None
        try:
            with run.interrupt.allowed("model_stream"):
                async with aclosing(_stream(run, request)) as deltas:
                    async for delta in deltas:
                        first = first or time.perf_counter() - started
                        run.checkpoint("model_stream")
                        reply.feed(delta)
                        await _tell(run, delta)
        finally:
            _settle(run, reply, scope, first)


def _scope(run: RunState, request: ModelRequest) -> ChatScope:
    active, sizes, settings = run.active, request.sizes, run.active.agent.settings
    return chat_scope(
        provider=active.provider_name,
        model=active.model,
        purpose="turn",
        agent=active.agent.name,
        session_id=run.ctx.session_id,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        output_type="json" if active.output is not None else "text",
        sizes=ChatSizes(
            history=sizes.history,
            request=sizes.request_after,
            window=sizes.window,
            saved=sizes.saved,
            source=sizes.source,
        ),
        view=request.result.view,
        compacted=request.result.changed,
        prefix_reused=request.prefix_reused,
    )


async def _stream(run: RunState, request: ModelRequest) -> AsyncGenerator[ModelDelta, None]:
    """Call the provider; a stream that can be closed is closed, however reading it ends."""
    active = run.active
    deltas: Any = active.provider.stream(
        list(request.entries),
        tools=list(active.schemas) or None,
        response_format=active.response_format,
        settings=active.agent.settings,
    )
    try:
        async for delta in deltas:
            yield delta
    finally:
        close = getattr(deltas, "aclose", None)
        if close is not None:
            await close()


async def _tell(run: RunState, delta: ModelDelta) -> None:
    if isinstance(delta, TextDelta):
        await run.emitter.emit(events.TextDelta(delta.text))
    elif isinstance(delta, ReasoningDelta):
        await run.emitter.emit(events.ReasoningDelta(delta.text))


def _settle(run: RunState, reply: ModelReply, scope: ChatScope, first: float | None) -> None:
    usage = reply.usage
    if usage is None:
        scope.settle(finish_reason=reply.finish_reason, time_to_first_chunk=first)
        return
    run.ctx.usage.add(usage)
    run.last_input_tokens = usage.input_tokens or None
    scope.settle(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        finish_reason=reply.finish_reason,
        time_to_first_chunk=first,
    )
