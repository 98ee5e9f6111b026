"""The life of a run: set-up, the work, and exactly one last event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from lovia import events
from lovia.errors import RunCancelled, UserError
from lovia.runtime.activation import activate
from lovia.runtime.agent import Agent
from lovia.runtime.conversation import load_conversation, save_conversation
from lovia.runtime.emitter import Emitter
from lovia.runtime.guardrails import check_guardrails
from lovia.runtime.handoff import HandoffSlot
from lovia.runtime.loop import answer
from lovia.runtime.options import input_entries
from lovia.runtime.result import RunResult
from lovia.runtime.spans import settled, tell_cancelled
from lovia.runtime.state import RunState
from lovia.transcript.entries import is_system
from lovia_otel import run_scope

if TYPE_CHECKING:
    from lovia.runtime.control import RunControl
    from lovia.runtime.options import RunOptions

__all__ = ["execute"]


async def execute(options: RunOptions, control: RunControl) -> RunResult:
    """Execute a run to its end, telling its events on the way.

    The last event is told exactly once, whatever raises and however early: ``RunCompleted`` when
    this returns, ``RunFailed`` when it raises.

    Raises:
        Exception: What the run failed with.
    """
    emitter = Emitter(control.channel, control.context)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.pump)
        try:
            outcome = await _to_the_end(options, control, emitter)
        finally:
            emitter.close()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _to_the_end(
    options: RunOptions, control: RunControl, emitter: Emitter
) -> RunResult | Exception:
    """Return the result or the failure, after the last event was told."""
    try:
        result = await _run(options, control, emitter)
    except Exception as error:  # noqa: BLE001 - handed to the caller by execute
        if isinstance(error, RunCancelled):
            tell_cancelled(control.context, error)
        await emitter.finish(events.RunFailed(error))
        return error
    except BaseException:
        # The task itself is being cancelled: by whoever holds the scope around it, or by a
        # reader who left early and said so through the token.
        reason = options.cancel_token.reason or "parent"
        cancelled = RunCancelled(f"The run was cancelled ({reason}).", reason=reason)
        tell_cancelled(control.context, cancelled)
        await emitter.finish_torn_down(events.RunFailed(cancelled))
        raise
    await emitter.finish(events.RunCompleted(result))
    return result


async def _run(options: RunOptions, control: RunControl, emitter: Emitter) -> RunResult:
    ctx = control.context
    name = str(getattr(options.agent, "name", ""))
    run = RunState(options, control, emitter, HandoffSlot())
    scope = run_scope(agent=name, run_id=ctx.run_id, session_id=ctx.session_id)
    with settled(scope, run):
        await _set_up(run)
        started = events.RunStarted(options.agent, run_id=ctx.run_id, session_id=ctx.session_id)
        await emitter.emit(started)
        agent = run.active.agent
        await check_guardrails(agent.input_guardrails, list(ctx.entries), ctx, where="input")
        output = await answer(run)
        agent = run.active.agent
        await check_guardrails(agent.output_guardrails, output, ctx, where="output")
        await save_conversation(run)
        return RunResult(
            output=output,
            entries=ctx.entries[run.own_start :],
            final_agent=agent,
            usage=ctx.usage,
            turns=ctx.turn,
            finish_reason=run.finish_reason,
            last_input_tokens=run.last_input_tokens,
            run_id=ctx.run_id,
        )


async def _set_up(run: RunState) -> None:
    """Check what the caller asked for and make the first agent active.

    Raises:
        UserError: Something cannot work.
    """
    options = run.options
    agent: Any = options.agent
    if not isinstance(agent, Agent):
        message = f"Runner runs an Agent, not {type(agent).__name__}."
        raise UserError(message, hint='Make one: Agent(name="...", model=...).')
    if options.max_turns < 1:
        raise UserError(f"max_turns is {options.max_turns}.", hint="A run needs at least one turn.")
    await load_conversation(run)
    run.append(input_entries(options.input))
    if all(is_system(entry) for entry in run.entries):
        hint = "Pass at least one user message."
        raise UserError("The run's input holds system messages only.", hint=hint)
    run.active = await activate(agent, options, run.ctx, run.handoff)
