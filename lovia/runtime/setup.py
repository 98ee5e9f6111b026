"""Setting a run up: what was said before, its input or its saved state, its first agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.errors import UserError
from lovia.events import RunStarted
from lovia.runtime.activation import activate
from lovia.runtime.agent import Agent
from lovia.runtime.checkpoint import checked_id
from lovia.runtime.conversation import load_conversation
from lovia.runtime.options import input_entries
from lovia.runtime.output import output_type
from lovia.runtime.result import RunResult
from lovia.runtime.resume import find_agent, journal_for, restore, restore_handoff
from lovia.transcript.entries import is_system

if TYPE_CHECKING:
    from lovia.runtime.state import RunState
    from lovia.stores import RunSnapshot

__all__ = ["replay", "set_up"]


async def set_up(run: RunState, saved: RunSnapshot | None) -> None:
    """Give a run its entries and make its first agent active.

    Args:
        run: The run.
        saved: What it is resumed from, or ``None`` for a new run.

    Raises:
        UserError: Something that the caller asked for cannot work.
        CheckpointError: The saved run cannot be gone on with.
    """
    options = run.options
    agent = _checked(options.agent)
    if options.max_turns < 1:
        raise UserError(f"max_turns is {options.max_turns}.", hint="A run needs at least one turn.")
    if saved is not None:
        agent = find_agent(agent, saved.agent_name, run_id=saved.run_id)
    journal = await journal_for(options.checkpoint, saved)
    await load_conversation(run, saved)
    if saved is not None:
        restore(run, saved)
    else:
        run.append(input_entries(options.input))
        if all(is_system(entry) for entry in run.entries):
            hint = "Pass at least one user message."
            raise UserError("The run's input holds system messages only.", hint=hint)
    await activate(run, agent)
    if saved is not None:
        restore_handoff(run, saved)
    run.journal = journal  # from here on there is something to save


async def replay(run: RunState, saved: RunSnapshot) -> RunResult:
    """Return the result of a run that has completed, and tell the stream alone of it.

    Hooks and guardrails have had their say when it completed. A session that lacks the run gets it.

    Raises:
        UserError: The agent that answered is not to be found any more.
        OutputValidationError: Another output type is asked for than the run answered with.
    """
    ctx, options = run.ctx, run.options
    run.emitter.quiet = True
    agent = find_agent(_checked(options.agent), saved.agent_name, run_id=saved.run_id)
    ctx.agent = agent
    restore(run, saved)
    started = RunStarted(agent, run_id=ctx.run_id, session_id=ctx.session_id, resumed=True)
    await run.emitter.emit(started)
    if options.session is not None:
        session_id = checked_id(options.session_id or "", "session_id")
        await options.session.append(session_id, saved.entries, run_id=saved.run_id)
    return RunResult.of(run, await _output(run, saved, agent))


async def _output(run: RunState, saved: RunSnapshot, agent: Agent[Any]) -> Any:
    """Return the output of a completed run: from its answer, so that it has the type it had."""
    if run.reply is None:
        return saved.output
    asked = run.options.output_type
    kind = await output_type(agent.output_type if asked is None else asked)
    return run.reply.text if kind is None else kind.parse(run.reply.text)


def _checked(agent: Any) -> Agent[Any]:
    if not isinstance(agent, Agent):
        message = f"Runner runs an Agent, not {type(agent).__name__}."
        raise UserError(message, hint='Make one: Agent(name="...", model=...).')
    return agent
