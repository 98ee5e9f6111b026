"""Going on with a saved run: finding it, and putting its state together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.errors import CheckpointError, UserError
from lovia.runtime.handoff import handoff_of
from lovia.runtime.journal import Journal
from lovia.runtime.turn_reply import TurnReply
from lovia.transcript.pairing import Pairing
from lovia_otel import checkpoint_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.runtime.agent import Agent
    from lovia.runtime.checkpoint import CheckpointOptions
    from lovia.runtime.handoff import Handoff
    from lovia.runtime.state import RunState
    from lovia.stores import Checkpointer, RunSnapshot
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["find_agent", "find_run", "journal_for", "restore", "restore_handoff"]


async def find_run(options: CheckpointOptions | None) -> RunSnapshot | None:
    """Return the saved run that is to be gone on with, or ``None`` for a new one.

    Raises:
        UserError: There is one and there should be none, or the other way round.
        CheckpointDamaged: What is there is not what was saved.
    """
    if options is None:
        return None
    if options.resume_from is not None and options.if_run_exists != "restart":
        return options.resume_from.checked()
    store = options.checkpointer
    if store is None:
        return None
    run_id, choice = options.resolved_run_id, options.if_run_exists
    if choice == "restart":
        await store.delete(run_id)
        return None
    saved = await _load(store, run_id)
    if saved is None and choice == "resume_only":
        hint = "Use if_run_exists='resume' to begin the run when there is none."
        raise UserError(f"There is no saved run {run_id!r}.", hint=hint)
    if saved is not None and choice == "fail":
        message = f"There is a saved run {run_id!r} already ({saved.outcome or saved.status})."
        raise UserError(message, hint="Use if_run_exists='resume' or 'restart', or another run_id.")
    return saved


async def journal_for(
    options: CheckpointOptions | None, saved: RunSnapshot | None
) -> Journal | None:
    """Return what saves the run from here on, or ``None`` without a checkpointer.

    Raises:
        CheckpointError: The run is resumed from a snapshot that is not what the checkpointer has.
    """
    if options is None or options.checkpointer is None:
        return None
    run_id, store = options.resolved_run_id, options.checkpointer
    if options.resume_from is None or saved is None:
        return Journal(store, run_id, saved)
    stored = await _load(store, run_id)
    if stored is None:
        return Journal(store, run_id)
    if stored.log is None or saved.log is None or stored.log != saved.log:
        message = f"The checkpointer has another state of run {run_id!r} than the snapshot given."
        hint = "Leave resume_from out, or give the run another run_id."
        raise CheckpointError(message, hint=hint, run_id=run_id)
    return Journal(store, run_id, stored)


def restore(run: RunState, saved: RunSnapshot) -> None:
    """Put the state of a saved run into a new one, behind what its conversation had before.

    What was spent before is in the run's usage already: it is no part of the span of this life.
    """
    ctx, progress = run.ctx, saved.progress
    run.append(saved.entries)
    ctx.turn = saved.turns
    run.policy_state = saved.context_state
    run.last_input_tokens = saved.last_input_tokens
    run.finish_reason = progress.finish_reason
    run.repairs = progress.repairs
    run.started_at = saved.started_at or run.started_at
    run.seconds_before = progress.seconds
    run.tool_calls = progress.tool_calls - progress.turn_calls  # those are counted as they stand
    if ctx.budget is not None:
        ctx.budget.go_on(tool_calls=run.tool_calls, seconds=run.seconds_before)
    run.reply = _unfinished(saved)
    run.begun = {**dict.fromkeys(progress.begun), **saved.calls}
    run.decisions = {int(at): answer for at, answer in (progress.decisions or {}).items()}
    checkpoint = run.options.checkpoint
    if checkpoint is not None and run.reply is not None:
        answers = checkpoint.approvals
        calls = run.reply.calls
        run.decisions |= {at: answers[c.call_id] for at, c in calls if c.call_id in answers}


def restore_handoff(run: RunState, saved: RunSnapshot) -> None:
    """Make the handoff pending that had fired and was not applied.

    Raises:
        UserError: The active agent cannot hand over to that agent any more.
    """
    target = saved.pending_handoff
    if target is None:
        return
    for handoff in run.active.handoffs.values():
        if handoff.target.name == target:
            run.handoff.restore(handoff)
            return
    message = (
        f"Run {saved.run_id!r} was saved while agent {saved.agent_name!r} handed over to "
        f"{target!r}, which is not among its handoffs."
    )
    raise UserError(message, hint=f"List an agent named {target!r} in its handoffs again.")


def find_agent(root: Agent[Any], name: str, *, run_id: str) -> Agent[Any]:
    """Return the agent of a name among those that an agent can lead to by handoffs.

    Raises:
        UserError: There is none, or there are several different ones.
    """
    found = [agent for agent in _reachable(root) if agent.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        message = f"Run {run_id!r}: there are {len(found)} agents named {name!r}."
        raise UserError(message, hint="Give each agent of a handoff graph its own name.")
    raise UserError(
        f"Run {run_id!r} was saved while agent {name!r} was active, which cannot be reached from "
        f"agent {root.name!r}.",
        hint="Resume with the agent that the run began with; its handoffs have to lead there.",
    )


def _reachable(root: Agent[Any]) -> list[Agent[Any]]:
    """Return an agent and all that it can lead to, each object once."""
    agents = [root]
    for agent in agents:  # grows while it is walked
        item: Agent[Any] | Handoff
        for item in agent.handoffs:
            target = handoff_of(item, source=agent.name).target
            if all(target is not known for known in agents):
                agents.append(target)
    return agents


def _unfinished(saved: RunSnapshot) -> TurnReply | None:
    """Return the answer whose turn was not finished.

    Who wrote the snapshot may not have said where it is: then it is the one with open calls.
    """
    start = saved.progress.reply_at
    if start is None:
        start = _open_answer(saved.entries)
    return None if start is None else TurnReply.found(saved.entries, start)


def _open_answer(entries: Sequence[TranscriptEntry]) -> int | None:
    pairing = Pairing(entries)
    units = pairing.open_units()
    return pairing.units[max(units)].start if units else None


async def _load(store: Checkpointer, run_id: str) -> RunSnapshot | None:
    name = str(getattr(store, "name", type(store).__name__))
    with checkpoint_scope(operation="load", store=name) as scope:
        saved = await store.load(run_id)
        if saved is None:
            return None
        saved = saved.checked()
        scope.settle(
            entries=len(saved.entries),
            sequence=saved.log.sequence if saved.log is not None else None,
            status=saved.outcome or saved.status,
        )
    return saved
