"""Compacting a conversation that no run is working on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia.errors import SessionConflict, UserError
from lovia.runtime.activation import activate
from lovia.runtime.checkpoint import checked_id
from lovia.runtime.context_call import compact
from lovia.runtime.control import RunControl
from lovia.runtime.conversation import digest_of, read_conversation
from lovia.runtime.emitter import Emitter
from lovia.runtime.handoff import HandoffSlot
from lovia.runtime.options import RunOptions
from lovia.runtime.policy_memory import revision_of
from lovia.runtime.state import RunState
from lovia.stores import PolicyMemory, SharedSession

if TYPE_CHECKING:
    from lovia.events import ContextCompacted
    from lovia.runtime.agent import Agent
    from lovia.runtime.conversation import Conversation
    from lovia.stores import Session
    from lovia.usage import RunBudget

__all__ = ["compact_session"]

_ATTEMPTS: Final = 3  # in case others add to the conversation while it is being compacted


async def compact_session(
    session: Session,
    session_id: str,
    *,
    agent: Agent[Any],
    focus: str | None = None,
    context_policy: Any = None,
    deps: Any = None,
    budget: RunBudget | None = None,
) -> ContextCompacted | None:
    """Compact a conversation between its runs, so that the next run starts with a short view.

    The conversation itself is left as it is; what changes is what policies remember of it. A run
    that completes meanwhile comes first: the conversation is read again, and compacted as it is
    then.

    Args:
        session: Keeps the conversation.
        session_id: The conversation.
        agent: Who will go on with it: its model writes the summary, its instructions and tools
            count in the size of the request, and its hooks hear of the compaction.
        focus: What the summary should dwell on.
        context_policy: Instead of the agent's own context policy.
        deps: Handed to instructions and hooks as ``ctx.deps``.
        budget: Limits what the summary may cost.

    Returns:
        The event that tells of the compaction, or ``None`` when there was nothing to compact.

    Raises:
        UserError: The policy cannot compact on request, or the session cannot keep the outcome.
        SessionConflict: The conversation changed again and again while it was compacted.
        BudgetExceeded: The budget is spent.
        Exception: What the compaction failed with, such as ``SummaryRejected``.
    """
    if not isinstance(session, SharedSession):
        message = f"{type(session).__name__} cannot keep what a compaction decides between runs."
        raise UserError(message, hint="Use a session with recall() and remember().")
    checked_id(session_id, "session_id")
    for _ in range(_ATTEMPTS):
        conversation = await read_conversation(session, session_id)
        if not conversation.entries:
            return None
        options = RunOptions(
            agent=agent,
            input="",
            deps=deps,
            budget=budget,
            context_policy=context_policy,
            session_id=session_id,
        )
        event, memory = await _compacted(options, conversation, focus)
        assert conversation.version is not None  # noqa: S101 - shared sessions have versions
        if memory is None or await session.remember(session_id, memory, seen=conversation.version):
            return event
    message = f"The conversation {session_id!r} changed {_ATTEMPTS} times while it was compacted."
    hint = "Compact it when fewer runs add to it."
    raise SessionConflict(message, hint=hint, session_id=session_id)


async def _compacted(
    options: RunOptions, conversation: Conversation, focus: str | None
) -> tuple[ContextCompacted | None, PolicyMemory | None]:
    """Compact a conversation as the agent would see it, and return what is to be remembered."""
    control = RunControl(options)
    control.channel.stop_reading()  # there is no stream: only hooks hear of it
    emitter = Emitter(control.channel, control.context)
    run = RunState(options, control, emitter, HandoffSlot())
    session_id = options.session_id or ""
    run.append(conversation.entries)
    run.policy_state = await conversation.usable_state(session_id)
    before = revision_of(run.policy_state)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.pump)
        failure: Exception | None = None
        event: ContextCompacted | None = None
        try:
            await activate(run, options.agent)
            with run.interrupt.explained():
                event = await compact(run, focus)
        except Exception as error:  # noqa: BLE001 - raised below, in no group
            failure = error
        finally:
            await run.plugins.aclose()
            emitter.close()
    if failure is not None:
        raise failure
    if revision_of(run.policy_state) == before:
        return event, None
    entries = conversation.entries
    return event, PolicyMemory(run.policy_state, len(entries), await digest_of(entries))
