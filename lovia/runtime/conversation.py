"""The session around a run: what was said before it, and what it adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.errors import UserError

if TYPE_CHECKING:
    from lovia.runtime.state import RunState

__all__ = ["load_conversation", "save_conversation"]

# Key in a segment's meta under which the memory of context policies travels to the next run.
_POLICY_STATE: Final = "policy_state"


async def load_conversation(run: RunState) -> None:
    """Put what was said before in front of the run's own entries, and give policies their memory.

    Raises:
        UserError: There is a session and no id of the conversation in it.
    """
    options = run.options
    if options.session is None:
        return
    if not options.session_id:
        hint = "Pass session_id=..., the conversation's name in the session."
        raise UserError("A session was given without a session_id.", hint=hint)
    segments = await options.session.segments(options.session_id)
    for segment in segments:
        run.append(segment.entries)
    run.own_start = len(run.entries)
    saved: Any = (segments[-1].meta or {}).get(_POLICY_STATE) if segments else None
    if isinstance(saved, dict):
        run.policy_state = saved


async def save_conversation(run: RunState) -> None:
    """Add the run's own entries to the session, with the memory of its policies."""
    options = run.options
    if options.session is None or not options.session_id:
        return
    await options.session.append(
        options.session_id,
        run.entries[run.own_start :],
        run_id=options.run_id,
        meta={_POLICY_STATE: run.policy_state},
    )
