"""One answer of the model: the request, retries of failed calls, and refusals for size."""

from __future__ import annotations

import itertools
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lovia import events
from lovia.errors import BudgetExceeded, ContextOverflowError, RunCancelled
from lovia.providers.reply import ModelReply
from lovia.runtime.content import as_messages
from lovia.runtime.context_call import prepare_request, shrink_request
from lovia.runtime.policies import max_reactive_retries
from lovia.runtime.spans import actor
from lovia.transcript.deltas import ModelDelta, ReasoningDelta, TextDelta
from lovia_otel import ChatScope, ChatSizes, chat_scope, logs

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
                        with scope.outside():  # what hooks do is no part of the model call
                            await _tell(run, delta)
        finally:
            _settle(run, reply, scope, first)
            _show(scope, request, reply)


def _scope(run: RunState, request: ModelRequest) -> ChatScope:
    active, sizes, settings = run.active, request.sizes, run.active.agent.settings
    return chat_scope(
        provider=active.provider_name,
        model=active.model,
        purpose="turn",
        agent=active.agent.name,
        session_id=run.ctx.session_id,
        **_endpoint(active.provider),
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
            new=request.new,
        ),
        view=request.result.view,
        compacted=request.result.changed,
        prefix_reused=request.prefix_reused,
        cache_used=run.cache_used,
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


def _tell_measured(run: RunState) -> None:
    """Tell once what the provider counted for the view of the last pass."""
    passed, run.unmeasured = run.unmeasured, None
    if passed is None or run.last_input_tokens is None:
        return
    logs.context_measured(
        pass_id=passed.pass_id,
        tokens_measured=run.last_input_tokens,
        tokens_after=passed.tokens_after,
        model=run.active.model,
        provider=run.active.provider_name,
        actor=actor(run.ctx),
    )


def _show(scope: ChatScope, request: ModelRequest, reply: ModelReply) -> None:
    """Offer what was said, for traces that may hold it; nothing is built for others."""
    scope.content(
        input_messages=lambda: as_messages(request.entries),
        output_messages=lambda: as_messages(reply.entries(), finish_reason=reply.finish_reason),
    )


def _endpoint(provider: object) -> dict[str, Any]:
    """Return where a provider's model is served, as far as it says."""
    try:
        address = urlsplit(str(getattr(provider, "base_url", None) or ""))
        return {"server_address": address.hostname, "server_port": address.port}
    except ValueError:
        return {}


def _settle(run: RunState, reply: ModelReply, scope: ChatScope, first: float | None) -> None:
    usage = reply.usage
    if usage is None:
        scope.settle(finish_reason=reply.finish_reason, time_to_first_chunk=first)
        return
    run.ctx.usage.add(usage)
    run.last_input_tokens = usage.input_tokens or None
    run.cache_used = bool(usage.cache_read_tokens or usage.cache_write_tokens)
    run.log.answered()
    _tell_measured(run)
    scope.settle(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        finish_reason=reply.finish_reason,
        time_to_first_chunk=first,
    )
