"""The life of a run: set-up, turns, handoffs, and exactly one last event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia import events
from lovia.errors import BudgetExceeded, MaxTurnsExceeded, RunCancelled, UserError
from lovia.runtime.activation import activate
from lovia.runtime.emitter import Emitter
from lovia.runtime.handoff import HandoffSlot
from lovia.runtime.model_turn import model_turn
from lovia.runtime.options import input_entries
from lovia.runtime.result import RunResult
from lovia.runtime.run_context import RunContext
from lovia.runtime.state import RunState
from lovia.runtime.tool_calls import run_tool_calls
from lovia.transcript.entries import is_system
from lovia.usage import Usage
from lovia_otel import RunScope, record_cancellation, record_handoff, run_scope, turn_scope

if TYPE_CHECKING:
    from lovia.providers.reply import ModelReply
    from lovia.runtime.channel import EventChannel
    from lovia.runtime.interrupt import Interrupt
    from lovia.runtime.options import RunOptions

__all__ = ["execute"]

# Not failures: the run goes on when it is resumed with a raised limit.
_LIMITS: Final = (MaxTurnsExceeded, BudgetExceeded)


async def execute(options: RunOptions, channel: EventChannel, interrupt: Interrupt) -> RunResult:
    """Execute a run to its end, telling its events on the way.

    The last event is told exactly once, whatever raises and however early: ``RunCompleted`` when
    this returns, ``RunFailed`` when it raises.

    Raises:
        Exception: What the run failed with.
    """
    emitter = Emitter(channel, _context(options))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.pump)
        try:
            outcome = await _to_the_end(options, emitter, interrupt)
        finally:
            emitter.close()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _context(options: RunOptions) -> RunContext[Any]:
    return RunContext(
        deps=options.deps,
        entries=[],
        agent=options.agent,
        run_id=options.run_id,
        budget=options.budget,
        cancel_token=options.cancel_token,
    )


async def _to_the_end(
    options: RunOptions, emitter: Emitter, interrupt: Interrupt
) -> RunResult | Exception:
    """Return the result or the failure, after the last event was told."""
    try:
        result = await _run(options, emitter, interrupt)
    except Exception as error:  # noqa: BLE001 - handed to the caller by execute
        if isinstance(error, RunCancelled):
            record_cancellation(error.cancellation_reason, error.cancellation_checkpoint)
        await emitter.finish(events.RunFailed(error))
        return error
    except BaseException:
        # The task itself is being cancelled: by whoever holds the scope around it, or by a
        # reader who left early and said so through the token.
        reason = options.cancel_token.reason or "parent"
        record_cancellation(reason)
        cancelled = RunCancelled(f"The run was cancelled ({reason}).", reason=reason)
        await emitter.finish_torn_down(events.RunFailed(cancelled))
        raise
    await emitter.finish(events.RunCompleted(result))
    return result


async def _run(options: RunOptions, emitter: Emitter, interrupt: Interrupt) -> RunResult:
    ctx = emitter.ctx
    scope = run_scope(
        agent=str(getattr(options.agent, "name", "")),
        run_id=ctx.run_id,
        session_id=ctx.session_id,
    )
    with scope:
        run: RunState | None = None
        try:
            run = await _set_up(options, emitter, interrupt)
            await emitter.emit(events.RunStarted(options.agent, run_id=ctx.run_id))
            result = await _speak_until_done(run)
        except _LIMITS:
            scope.settle(outcome="limit_reached")
            raise
        else:
            scope.settle(outcome="completed")
            return result
        finally:
            _settle(scope, ctx, Usage(), compactions=run.compactions if run else 0)


async def _set_up(options: RunOptions, emitter: Emitter, interrupt: Interrupt) -> RunState:
    """Check what the caller asked for and make the first agent active.

    Raises:
        UserError: Something cannot work.
    """
    from lovia.runtime.agent import Agent

    agent: Any = options.agent
    if not isinstance(agent, Agent):
        message = f"Runner runs an Agent, not {type(agent).__name__}."
        raise UserError(message, hint='Make one: Agent(name="...", model=...).')
    if options.max_turns < 1:
        raise UserError(f"max_turns is {options.max_turns}.", hint="A run needs at least one turn.")
    ctx = emitter.ctx
    ctx.entries.extend(input_entries(options.input))
    if all(is_system(entry) for entry in ctx.entries):
        hint = "Pass at least one user message."
        raise UserError("The run's input holds system messages only.", hint=hint)
    slot = HandoffSlot()
    active = await activate(agent, options, ctx, slot)
    return RunState(options, ctx, emitter, active, slot, interrupt)


async def _speak_until_done(run: RunState) -> RunResult:
    """Let agents speak, each until it hands over, until one answers."""
    reply = await _speak(run)
    while reply is None:
        await _apply_handoff(run)
        spent, compactions = run.ctx.usage.clone(), run.compactions
        scope = run_scope(
            agent=run.active.agent.name, run_id=run.ctx.run_id, session_id=run.ctx.session_id
        )
        with scope:
            try:
                reply = await _speak(run)
                scope.settle(outcome="completed")
            except _LIMITS:
                scope.settle(outcome="limit_reached")
                raise
            finally:
                _settle(scope, run.ctx, spent, compactions=run.compactions - compactions)
    return RunResult(
        output=reply.text,
        entries=run.entries[run.own_start :],
        final_agent=run.active.agent,
        usage=run.ctx.usage,
        turns=run.ctx.turn,
        finish_reason=reply.finish_reason,
        last_input_tokens=run.last_input_tokens,
        run_id=run.ctx.run_id,
    )


async def _speak(run: RunState) -> ModelReply | None:
    """Make turns until the active agent answers (the answer) or hands over (``None``)."""
    while True:
        run.checkpoint("turn")
        run.check_budget()
        if run.ctx.turn >= run.options.max_turns:
            message = f"The run made all of its {run.options.max_turns} turns without an answer."
            raise MaxTurnsExceeded(message, hint="Raise max_turns.")
        run.ctx.turn += 1
        agent = run.active.agent
        with turn_scope(index=run.ctx.turn) as scope:
            reply = await _turn(run)
            scope.settle(tool_calls=len(reply.calls))
            await run.emitter.emit(events.TurnEnded(agent, run.ctx.turn))
        if not reply.calls:
            return reply
        if run.handoff.pending is not None:
            return None


async def _turn(run: RunState) -> ModelReply:
    """One turn: the model answers, and the calls in its answer are run."""
    await run.emitter.emit(events.TurnStarted(run.active.agent, run.ctx.turn))
    run.checkpoint("turn")
    reply = await model_turn(run)
    entries = reply.entries()
    run.append(entries)
    await run.emitter.emit(events.MessageCompleted(entries))
    await run_tool_calls(run, reply.calls)
    return reply


async def _apply_handoff(run: RunState) -> None:
    """Make the target of the pending handoff the active agent."""
    handoff = run.handoff.pending
    assert handoff is not None  # noqa: S101 - the loop comes here for a pending handoff only
    source = run.active.agent
    run.active = await activate(handoff.target, run.options, run.ctx, run.handoff)
    run.handoff.clear()
    run.last_input_tokens = None
    record_handoff(source.name, handoff.target.name)
    await run.emitter.emit(events.HandoffOccurred(source, handoff.target), source.hooks)


def _settle(scope: RunScope, ctx: RunContext[Any], before: Usage, *, compactions: int) -> None:
    """Hand over what was spent since ``before``; summaries are counted apart from turns."""
    now = ctx.usage
    summary_in = now.summary.input_tokens - before.summary.input_tokens
    summary_out = now.summary.output_tokens - before.summary.output_tokens
    scope.settle(
        turns=ctx.turn,
        compactions=compactions,
        input_tokens=now.input_tokens - before.input_tokens - summary_in,
        output_tokens=now.output_tokens - before.output_tokens - summary_out,
        summary_input_tokens=summary_in,
        summary_output_tokens=summary_out,
    )
