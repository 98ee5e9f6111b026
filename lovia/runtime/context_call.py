"""The policy's turn: from the transcript to the request that the next model call sends."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from lovia.context.announcing import compacted_event
from lovia.context.policy import ContextPolicyResult, PolicyContext
from lovia.errors import BudgetExceeded, LoviaError, RunCancelled, UserError
from lovia.runtime.plugins import injected
from lovia.runtime.policies import as_result, state_key
from lovia.runtime.state import UnmeasuredPass
from lovia.runtime.summary_share import SummaryShare

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.context.policy import ViewKind
    from lovia.errors import ContextOverflowError
    from lovia.events import ContextCompacted
    from lovia.runtime.manual import CompactionTicket
    from lovia.runtime.request import ModelRequest
    from lovia.runtime.state import RunState

__all__ = ["compact", "prepare_request", "shrink_request"]


async def prepare_request(run: RunState) -> ModelRequest:
    """Ask the policy for the view of the next call and build the request from it."""
    ticket = run.control.desk.take()
    if ticket is not None:
        request = await _compact_on_request(run, ticket)
        if request is not None:
            return request
    ctx = _policy_context(run)
    ask = partial(run.active.policy.apply, run.entries, ctx=ctx)
    request, _ = await _request(run, ctx, ask)
    return request


async def shrink_request(
    run: RunState, refused: ModelRequest, error: ContextOverflowError
) -> ModelRequest | None:
    """Ask the policy for a smaller request after a refusal.

    Returns:
        The request, or ``None`` when it is not really smaller than the one that was refused.
    """
    policy: Any = run.active.policy
    ctx = _policy_context(run)
    ask = partial(policy.apply_reactive, run.entries, ctx=ctx, error=error)
    request, _ = await _request(run, ctx, ask, reactive=True)
    if request.view == refused.view:
        return None
    smaller = request.counted < refused.counted
    if request.result.sizes is not None and refused.result.sizes is not None:
        smaller |= request.sizes.request_after < refused.sizes.request_after
    return request if smaller else None


async def compact(run: RunState, focus: str | None) -> ContextCompacted | None:
    """Have the policy compact because somebody asked; ``None`` when there was nothing to compact.

    Raises:
        UserError: The policy does not compact on request.
        Exception: The compaction failed.
    """
    request, event = await _compact(run, focus)
    if request.result.error is not None:
        raise request.result.error
    return event


async def _compact_on_request(run: RunState, ticket: CompactionTicket) -> ModelRequest | None:
    """Compact because somebody asked; a failure is the asker's, and the run goes on without."""
    try:
        request, event = await _compact(run, ticket.focus)
        ticket.settle(event, request.result.error)
        return request
    except (RunCancelled, BudgetExceeded):
        raise
    except Exception as error:  # noqa: BLE001 - raised where the ticket is awaited
        ticket.settle(error=error)
        return None
    finally:
        ticket.settle()


async def _compact(
    run: RunState, focus: str | None
) -> tuple[ModelRequest, ContextCompacted | None]:
    policy: Any = run.active.policy
    if not callable(getattr(policy, "compact_now", None)):
        message = f"{type(policy).__name__} does not compact on request."
        hint = "Use a policy with compact_now(), such as CompactingContextPolicy."
        raise UserError(message, hint=hint)
    ctx = _policy_context(run)
    ask = partial(policy.compact_now, run.entries, ctx=ctx, focus=focus)
    return await _request(run, ctx, ask)


async def _request(
    run: RunState,
    ctx: PolicyContext,
    ask: Callable[[], Awaitable[Any]],
    *,
    reactive: bool = False,
) -> tuple[ModelRequest, ContextCompacted | None]:
    """Get a view, measure it, and tell when it was cut anew; the event comes back as well."""
    result = await _answer(run, ask)
    shown = await injected(run.active.view_injectors, run.ctx)
    request = await anyio.to_thread.run_sync(run.log.build, run.active, result, run.entries, shown)
    if result.view != "compacted":
        return request, None
    run.compactions += 1
    run.last_input_tokens = None  # what the provider counted last was another view
    measured = replace(result, sizes=request.sizes)
    event = compacted_event(measured, run.entries, ctx=ctx, reactive=reactive)
    if event.pass_id is not None:
        run.unmeasured = UnmeasuredPass(event.pass_id, event.tokens_after_estimate)
    await run.emitter.emit(event)
    return request, event


async def _answer(run: RunState, ask: Callable[[], Awaitable[Any]]) -> ContextPolicyResult:
    """Ask the policy and check its answer; what it spends is booked as spent by summaries.

    A summary may take minutes: asking the run to stop interrupts the wait for it.
    """
    policy, transcript = run.active.policy, run.entries
    length, last = len(transcript), transcript[-1]
    run.policy_revision = None  # only here does the policy touch its memory
    with SummaryShare(run.ctx.usage), run.interrupt.allowed("pass"):
        returned = await ask()
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
    repeats = run.log.repeats(result.entries, run.entries)
    kind: ViewKind = "replayed" if repeats else "compacted"
    return replace(result, view=kind)
