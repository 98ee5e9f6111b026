"""The session around a run: what was said before it, and what it adds."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from lovia.errors import CheckpointError, UserError
from lovia.runtime.checkpoint import checked_id
from lovia.runtime.policy_memory import revision_of
from lovia.stores import PolicyMemory, SessionMark, SharedSession
from lovia.transcript.digest import PrefixChain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia.runtime.state import RunState
    from lovia.stores import RunSnapshot, Session
    from lovia.transcript.entries import TranscriptEntry

__all__ = [
    "Conversation",
    "digest_of",
    "load_conversation",
    "read_conversation",
    "save_conversation",
]

# Key in a segment's meta under which the memory of context policies travels to the next run, in
# sessions that have no place of their own for it.
_MEMORY: Final = "policy_state"

_log = logging.getLogger("lovia.runtime")


@dataclass(frozen=True)
class Conversation:
    """A conversation as it was read.

    Attributes:
        entries: What was said.
        version: Its version, or ``None`` in a session that has no versions.
        memory: What policies remember of it, or ``None``.
    """

    entries: list[TranscriptEntry]
    version: int | None = None
    memory: PolicyMemory | None = None

    async def usable_state(self, session_id: str) -> dict[str, Any]:
        """Return the policies' memory, or an empty one when it speaks of another conversation."""
        memory = self.memory
        if memory is None:
            return {}
        spoken_of = self.entries[: memory.entries]
        if len(spoken_of) == memory.entries and await digest_of(spoken_of) == memory.chain:
            return dict(memory.state)
        _log.warning(
            "The conversation %r was rewritten: what policies remembered of it is set aside.",
            session_id,
        )
        return {}


async def load_conversation(run: RunState, saved: RunSnapshot | None = None) -> None:
    """Put what was said before in front of the run's own entries, and give policies their memory.

    A resumed run gets what it saw when it first started, and brings its policies' memory itself.

    Args:
        run: The run; it has no entries yet.
        saved: What is resumed, or ``None``.

    Raises:
        UserError: There is a session and no id of the conversation in it, or a resumed run comes
            with another conversation.
        CheckpointError: What a resumed run saw is not there any more.
    """
    options = run.options
    if saved is not None:
        _check_same(run, saved)
    if options.session is None:
        return
    session_id = checked_id(options.session_id or "", "session_id")
    conversation = await read_conversation(options.session, session_id)
    entries = conversation.entries
    if saved is not None:
        mark = saved.session or SessionMark(session_id)
        entries = entries[: mark.entries]
        if len(entries) < mark.entries or await digest_of(entries) != mark.chain:
            raise _rewritten(run, session_id)
        run.session = mark
    else:
        run.session = SessionMark(
            session_id, conversation.version, len(entries), await digest_of(entries)
        )
        run.policy_state = await conversation.usable_state(session_id)
    run.append(entries)
    run.own_start = len(entries)


async def save_conversation(run: RunState) -> None:
    """Add the run's own entries to the session, with the memory of its policies.

    A memory is kept only when nobody has changed the conversation since the run read it: otherwise
    the next run reads the memory of whoever was first, which fits what that one had seen.
    """
    session, mark = run.options.session, run.session
    if session is None or mark is None:
        return
    own, run_id = run.entries[run.own_start :], run.options.run_id
    memory = PolicyMemory(run.policy_state, len(run.entries), await digest_of(run.entries))
    revision_of(run.policy_state)  # what cannot be saved is refused by name
    if isinstance(session, SharedSession):
        await session.append(mark.session_id, own, run_id=run_id, memory=memory, seen=mark.version)
    else:
        kept = {"state": memory.state, "entries": memory.entries, "chain": memory.chain}
        await session.append(mark.session_id, own, run_id=run_id, meta={_MEMORY: kept})


async def read_conversation(session: Session, session_id: str) -> Conversation:
    """Return a conversation, with the policies' memory wherever the session keeps it."""
    version, memory = None, None
    if isinstance(session, SharedSession):
        version, memory = await session.recall(session_id)
    segments = await session.segments(session_id)
    entries = [entry for segment in segments for entry in segment.entries]
    if version is None and segments:
        memory = _memory_in(segments[-1].meta)
    return Conversation(entries, version, memory)


def _memory_in(meta: Mapping[str, Any] | None) -> PolicyMemory | None:
    kept: Any = (meta or {}).get(_MEMORY)
    if not isinstance(kept, dict) or not isinstance(kept.get("state"), dict):
        return None
    return PolicyMemory(kept["state"], kept.get("entries", 0), kept.get("chain", ""))


async def digest_of(entries: Sequence[TranscriptEntry]) -> str:
    """Return the digest of a conversation, hashed in a worker thread."""
    return await anyio.to_thread.run_sync(lambda: PrefixChain(entries).value().hex())


def _check_same(run: RunState, saved: RunSnapshot) -> None:
    """Refuse to resume a run in another conversation than its own."""
    there = saved.session.session_id if saved.session is not None else None
    here = run.options.session_id if run.options.session is not None else None
    if saved.session is not None and there != here:
        message = f"Run {saved.run_id!r} belongs to the conversation {there!r}, not to {here!r}."
        raise UserError(message, hint="Resume it with the session and session_id it began with.")


def _rewritten(run: RunState, session_id: str) -> CheckpointError:
    message = f"The conversation {session_id!r} was rewritten since run {run.ctx.run_id!r} began."
    hint = "Start the run anew with if_run_exists='restart'."
    return CheckpointError(message, hint=hint, run_id=run.ctx.run_id)
