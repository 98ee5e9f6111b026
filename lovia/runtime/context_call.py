"""The policy's turn: from the transcript to the request that the next model call sends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.to_thread

from lovia.context.policy import ContextPolicyResult, PolicyContext
from lovia.errors import LoviaError
from lovia.events import ContextCompacted
from lovia.runtime.policies import as_result, state_key
from lovia.runtime.state import UnmeasuredPass
from lovia.runtime.summary_share import SummaryShare

if TYPE_CHECKING:
    from lovia.context.policy import ViewKind
    from lovia.errors import ContextOverflowError
    from lovia.runtime.request import ModelRequest
    from lovia.runtime.state import RunState

__all__ = ["prepare_request", "shrink_request"]


async def prepare_request(run: RunState) -> ModelRequest:
    """Ask the policy for the view of the next call and build the request from it."""
    return await _request(run, None)


async def shrink_request(
    run: RunState, refused: ModelRequest, error: ContextOverflowError
) -> ModelRequest | None:
    """Ask the policy for a smaller request after a refusal.

    Returns:
        The request, or ``None`` when it is not really smaller than the one that was refused.
    """
    request = await _request(run, error)
    if request.view == refused.view:
        return None
    smaller = request.counted < refused.counted
    if request.result.sizes is not None and refused.result.sizes is not None:
        smaller |= request.sizes.request_after < refused.sizes.request_after
    return request if smaller else None


async def _request(run: RunState, error: ContextOverflowError | None) -> ModelRequest:
    """Get a view, measure it, and tell when it was cut anew."""
    ctx = _policy_context(run)
    result = await _ask(run, ctx, error)
    request = await anyio.to_thread.run_sync(run.log.build, run.active, result, run.entries)
    if result.view == "compacted":
        run.compactions += 1
        run.last_input_tokens = None  # what the provider counted last was another view
        event = ContextCompacted.of(
            replace(result, sizes=request.sizes), run.entries, ctx=ctx, reactive=error is not None
        )
        if event.pass_id is not None:
            run.unmeasured = UnmeasuredPass(event.pass_id, event.tokens_after_estimate)
        await run.emitter.emit(event)
    return request


async def _ask(
    run: RunState, ctx: PolicyContext, error: ContextOverflowError | None
) -> ContextPolicyResult:
    """Call the policy, in its normal or in its reactive form, and check what it returns."""
    policy, transcript = run.active.policy, run.entries
    length, last = len(transcript), transcript[-1]
    with SummaryShare(run.ctx.usage):
        if error is None:
            returned = await policy.apply(transcript, ctx=ctx)
        else:
            returned = await policy.apply_reactive(transcript, ctx=ctx, error=error)  # type: ignore[attr-defined] # the caller has looked
    await run.emitter.flush()
    if len(transcript) != length or transcript[-1] is not last:
        message = f"The policy {type(policy).__name__} edited the transcript."
        raise LoviaError(message, hint="A policy returns a new list and leaves its input alone.")
    result = as_result(returned, transcript, policy)
    if not result.entries:
        message = f"The policy {type(policy).__name__} returned an empty view."
        raise LoviaError(message, hint="Keep at least the newest user message.")
    return _with_view_kind(run, result)


def _policy_context(run: RunState) -> PolicyContext:
    active, ctx = run.active, run.ctx
    return PolicyContext(
        provider=active.provider,
        model=active.model,
        last_input_tokens=run.last_input_tokens,
        session_id=ctx.session_id,
        run_id=ctx.run_id,
        agent=active.agent.name,
        instructions=ctx.system_prompt or None,
        tools=active.schemas,
        response_format=active.response_format,
        state=run.policy_state.setdefault(state_key(active.policy), {}),
        usage=ctx.usage,
        cancel=ctx.cancel_token,
        budget=ctx.budget,
        emit=run.emitter.emit_soon,
    )


def _with_view_kind(run: RunState, result: ContextPolicyResult) -> ContextPolicyResult:
    """Say what kind of view it is, for policies that do not say what their passes did."""
    if not result.changed or result.outcome is not None or result.view == "replayed":
        return result
    kind: ViewKind = "replayed" if run.log.repeats(result.entries) else "compacted"
    return replace(result, view=kind)
