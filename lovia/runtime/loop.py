"""The turn loop: the model answers, tools run, agents hand over, until there is an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia import events
from lovia.errors import MaxTurnsExceeded, OutputValidationError
from lovia.runtime.activation import activate
from lovia.runtime.model_turn import model_turn
from lovia.runtime.output import repair_prompt
from lovia.runtime.spans import actor, settled
from lovia.runtime.steering import injected_entry
from lovia.runtime.tool_calls import run_tool_calls
from lovia.runtime.turn_reply import TurnReply
from lovia.transcript.entries import InputEntry
from lovia_otel import logs, record_handoff, run_scope, turn_scope

if TYPE_CHECKING:
    from lovia.runtime.state import RunState

__all__ = ["WAITS", "answer"]

#: In place of an answer: calls wait for approval.
WAITS: Final = object()
# Likewise: another agent has taken over, or has to try again.
_HANDED_OVER: Final = object()
_TRY_AGAIN: Final = object()


async def answer(run: RunState) -> Any:
    """Let agents speak, each until it hands over, and return the output of the one that answers.

    Returns:
        The output, or :data:`WAITS` when calls wait for approval.

    Raises:
        MaxTurnsExceeded: All turns were made without an answer.
        BudgetExceeded: The budget is spent.
        RunCancelled: A stop was requested.
        OutputValidationError: The answer does not have the requested type.
    """
    output = await _speak(run)
    while output is _HANDED_OVER:
        await _apply_handoff(run)
        scope = run_scope(
            agent=run.active.agent.name, run_id=run.ctx.run_id, session_id=run.ctx.session_id
        )
        with settled(scope, run):
            output = await _speak(run)
    return output


async def _speak(run: RunState) -> Any:
    """Make turns until the active agent answers or hands over."""
    while True:
        run.checkpoint("turn")
        if run.reply is None:
            _begin_turn(run)
        with turn_scope(index=run.ctx.turn) as scope, run.interrupt.allowed("turn"):
            reply = run.reply or await _reply(run)
            await run_tool_calls(run, reply)
            scope.settle(tool_calls=len(reply.calls))
            if run.waiting:
                return WAITS
            await run.emitter.emit(events.TurnEnded(run.active.agent, run.ctx.turn))
        if run.handoff.pending is not None:
            return _HANDED_OVER
        if not reply.calls:
            output = _output_of(run, reply)
            if output is not _TRY_AGAIN:
                return output
        run.reply = None


def _begin_turn(run: RunState) -> None:
    """Count one more turn; raises when there is no turn or no budget left."""
    run.check_budget()
    if run.ctx.turn >= run.options.max_turns:
        message = f"The run made all of its {run.options.max_turns} turns without an answer."
        raise MaxTurnsExceeded(message, hint="Raise max_turns; a saved run then goes on.")
    run.ctx.turn += 1
    run.asking = True


async def _reply(run: RunState) -> TurnReply:
    """Get the model's answer and save it."""
    await run.emitter.emit(events.TurnStarted(run.active.agent, run.ctx.turn))
    run.checkpoint("turn")
    await _take_up_messages(run)
    replied = await model_turn(run)
    entries = replied.entries()
    run.reply, run.turn_calls = TurnReply(run.own_length, tuple(entries)), 0
    run.asking = False
    run.append(entries)
    run.finish_reason = replied.finish_reason
    await run.save()
    await run.emitter.emit(events.MessageCompleted(entries))
    return run.reply


async def _take_up_messages(run: RunState) -> None:
    """Add to the transcript what was pushed into the mailbox since the last turn, and save it."""
    for content in run.ctx.mailbox.drain():
        entry = injected_entry(content)
        run.append([entry])
        await run.save()
        shown = entry.content if isinstance(entry.content, str) else list(entry.content)
        await run.emitter.emit(events.UserMessageInjected(shown, run.ctx.turn))


def _output_of(run: RunState, reply: TurnReply) -> Any:
    """Return the output that an answer holds; one of another form is asked for again."""
    if run.active.output is None:
        return reply.text
    try:
        return run.active.output.parse(reply.text)
    except OutputValidationError as error:
        run.repairs += 1
        prompt = repair_prompt(run.active.agent.output_repair, error, run.repairs)
        if prompt is None:
            raise
        run.append([InputEntry("user", prompt)])
        return _TRY_AGAIN


async def _apply_handoff(run: RunState) -> None:
    """Make the target of the pending handoff the active agent, and save that it is."""
    handoff = run.handoff.pending
    assert handoff is not None  # noqa: S101 - the loop comes here for a pending handoff only
    source = run.active.agent
    await activate(run, handoff.target)
    run.handoff.clear()
    run.reply = None
    run.last_input_tokens = None
    await run.save()
    record_handoff(source.name, handoff.target.name)
    logs.agent_handoff(
        source=source.name, target=handoff.target.name, pending=False, actor=actor(run.ctx)
    )
    await run.emitter.emit(events.HandoffOccurred(source, handoff.target), source.hooks)
