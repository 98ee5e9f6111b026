"""The life of a run: set-up, the work, and exactly one last event."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from lovia import events
from lovia.cancellation import torn_down
from lovia.errors import RunCancelled, RunSuspended
from lovia.runtime.conversation import save_conversation
from lovia.runtime.emitter import Emitter
from lovia.runtime.endings import SUSPENDED, Ending
from lovia.runtime.guardrails import check_guardrails
from lovia.runtime.handoff import HandoffSlot
from lovia.runtime.loop import WAITS, answer
from lovia.runtime.result import RunResult
from lovia.runtime.resume import find_run
from lovia.runtime.setup import replay, set_up
from lovia.runtime.spans import actor, settled, tell_cancelled
from lovia.runtime.state import RunState
from lovia_otel import logs, run_scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lovia.runtime.control import RunControl
    from lovia.runtime.options import RunOptions
    from lovia.stores import RunSnapshot

__all__ = ["execute"]

# Seconds that the last save of a run gets that is being torn down.
_GRACE: Final = 5.0
_log = logging.getLogger("lovia.runtime")


async def execute(options: RunOptions, control: RunControl) -> RunResult:
    """Execute a run to its end, telling its events on the way.

    The last event is told exactly once, whatever raises and however early: ``RunCompleted`` when
    this returns, ``RunFailed`` when it raises.

    Raises:
        Exception: What the run failed with.
    """
    emitter = Emitter(control.channel, control.context)
    run = RunState(options, control, emitter, HandoffSlot())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.pump)
        try:
            with run.interrupt.explained():
                outcome = await _to_the_end(run)
        finally:
            emitter.close()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _to_the_end(run: RunState) -> RunResult | Exception:
    """Return the result or the failure, after the last event was told."""
    try:
        result = await _run(run)
    except Exception as error:  # noqa: BLE001 - handed to the caller by execute
        if isinstance(error, RunCancelled):
            tell_cancelled(run.ctx, error)
        await run.emitter.finish(events.RunFailed(error))
        return error
    except BaseException:
        # The task itself is being cancelled: by whoever holds the scope around it, or by a
        # reader who left early and said so through the token.
        cancelled = torn_down(run.options.cancel_token)
        tell_cancelled(run.ctx, cancelled)
        await run.emitter.finish_torn_down(events.RunFailed(cancelled))
        raise
    await run.emitter.finish(events.RunCompleted(result))
    return result


async def _run(run: RunState) -> RunResult:
    """Find out whether the run was saved before, and execute or replay it inside its span."""
    ctx, saved, failure = run.ctx, None, None
    try:
        saved = await find_run(run.options.checkpoint)
    except Exception as error:  # noqa: BLE001 - raised below, inside the span of the run
        failure = error
    if saved is not None:
        ctx.usage.add(saved.usage)
    if saved is not None and saved.status == "completed":
        return await replay(run, saved)
    name = saved.agent_name if saved is not None else getattr(run.options.agent, "name", "")
    scope = run_scope(
        agent=str(name),
        run_id=ctx.run_id,
        session_id=ctx.session_id,
        resumed=saved is not None,
        resumed_from=saved.progress.traceparent if saved is not None else None,
    )
    with settled(scope, run):
        if failure is not None:
            raise failure
        async with _ended(run):
            result = await _work(run, saved)
    if result is None:
        raise _suspended(run)
    return result


async def _work(run: RunState, saved: RunSnapshot | None) -> RunResult | None:
    """Do the work of the run; return ``None`` when it waits for approvals."""
    ctx = run.ctx
    with run.interrupt.listening("turn"):
        await set_up(run, saved)
        if saved is not None:
            logs.run_resumed(turns=ctx.turn, actor=actor(ctx))
        await run.emitter.emit(
            events.RunStarted(
                run.active.agent,
                run_id=ctx.run_id,
                session_id=ctx.session_id,
                resumed=saved is not None,
            )
        )
        await run.save()
        if ctx.turn == 0:
            await check_guardrails(
                run.active.input_guardrails, list(ctx.entries), ctx, where="input"
            )
        output = await answer(run)
        if output is WAITS:
            return None
        await check_guardrails(run.active.output_guardrails, output, ctx, where="output")
        await save_conversation(run)
        result = RunResult.of(run, output)
    if run.journal is not None:
        await run.journal.save(run, Ending("completed", "completed", output=output))
    return result


@asynccontextmanager
async def _ended(run: RunState) -> AsyncIterator[None]:
    """Save how the block ended, and close what plugins hold."""
    try:
        yield
    except BaseException as error:
        with anyio.move_on_after(_GRACE, shield=True):
            await _save_ending(run, error)
        raise
    else:
        await _settle_checkpoint(run)
    finally:
        await run.plugins.aclose()


async def _save_ending(run: RunState, error: BaseException) -> None:
    """Save a run that failed or was interrupted; what fails here does not hide why it ended."""
    if run.journal is None:
        return
    if not isinstance(error, Exception):
        error = torn_down(run.options.cancel_token)
    try:
        await run.journal.save(run, Ending.by(error))
    except Exception as unsaved:  # noqa: BLE001 - told beside the error that ended the run
        error.add_note(f"The run could not be saved: {unsaved}")
        _log.warning("How run %r ended could not be saved: %s", run.ctx.run_id, unsaved)


async def _settle_checkpoint(run: RunState) -> None:
    """Save a run that waits; forget one that completed, where the caller asked for that."""
    checkpoint = run.options.checkpoint
    if run.journal is None or checkpoint is None:
        return
    if run.waiting:
        await run.journal.save(run, SUSPENDED)
    elif checkpoint.delete_on_success:
        try:
            await run.journal.delete()
        except Exception as error:  # noqa: BLE001 - the run has its result
            _log.warning("Run %r completed and could not be deleted: %s", run.ctx.run_id, error)


def _suspended(run: RunState) -> RunSuspended:
    waiting = tuple(run.waiting.values())
    return RunSuspended(
        f"Run {run.ctx.run_id!r} waits for the approval of {len(waiting)} call(s).",
        hint="Ask for the same run_id again; answer with CheckpointOptions(approvals={id: True}).",
        run_id=run.ctx.run_id,
        waiting=waiting,
    )
