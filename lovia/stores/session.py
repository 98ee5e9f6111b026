"""What a session is: the conversation that runs add to, kept by whoever implements this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["PolicyMemory", "Segment", "Session", "SharedSession"]


@dataclass(frozen=True)
class Segment:
    """What one run added to a conversation.

    Attributes:
        run_id: The run.
        entries: What it added: its input and everything that came of it.
        meta: JSON-safe facts about the run; a store keeps them as they are and reads none.
    """

    run_id: str
    entries: list[TranscriptEntry]
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class PolicyMemory:
    """What context policies remember of a conversation, and of how much of it they speak.

    Attributes:
        state: The memory of each policy, JSON-safe.
        entries: How many entries the conversation had.
        chain: Digest of all of them in order, as hexadecimal text. A memory whose digest is another
            one speaks of a conversation that was rewritten, and is not used.
    """

    state: Mapping[str, Any]
    entries: int
    chain: str


@runtime_checkable
class Session(Protocol):
    """Keeps conversations, each a list of segments that only grows at its end.

    Methods raise whatever the storage raises; a run that cannot load or save its session fails.
    """

    async def segments(self, session_id: str) -> list[Segment]:
        """Return the segments of a conversation, oldest first; none when it is unknown."""
        ...

    async def load(self, session_id: str) -> list[TranscriptEntry]:
        """Return the whole conversation as one list (a new one)."""
        return [entry for segment in await self.segments(session_id) for entry in segment.entries]

    async def append(
        self,
        session_id: str,
        entries: list[TranscriptEntry],
        *,
        run_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a run's segment and return the run's id (a new one when ``run_id`` is ``None``).

        A run that is in the conversation already is not added again.
        """
        ...

    async def clear(self, session_id: str) -> None:
        """Forget a conversation."""
        ...


@runtime_checkable
class SharedSession(Session, Protocol):
    """A session that several processes may work on at once, and that can be forked and rewound.

    Policies' memory is kept beside the segments and changed by compare and set: who read a version
    that is no longer the newest one does not overwrite what came after it, and reads again.
    """

    async def recall(self, session_id: str) -> tuple[int, PolicyMemory | None]:
        """Return the conversation's version, and what policies remember of it.

        The version counts the changes of the conversation and of its memory, and is never the same
        for two states of it. Who reads it before the segments is safe: if somebody changes the
        conversation in between, the version is an old one.
        """
        ...

    async def append(
        self,
        session_id: str,
        entries: list[TranscriptEntry],
        *,
        run_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
        memory: PolicyMemory | None = None,
        seen: int | None = None,
    ) -> str:
        """Add a run's segment, as :meth:`Session.append` does, with what policies remember now.

        Args:
            session_id: The conversation.
            entries: What the run added.
            run_id: The run.
            meta: Facts about the run.
            memory: What policies remember, this segment included. It is kept only when ``seen`` is
                still the version: otherwise it speaks of a conversation that is not this one.
            seen: The version that the run read.
        """
        ...

    async def remember(self, session_id: str, memory: PolicyMemory, *, seen: int) -> bool:
        """Replace what policies remember if ``seen`` is still the version; tells whether it was."""
        ...

    async def fork(
        self, session_id: str, new_session_id: str, *, keep_entries: int | None = None
    ) -> int:
        """Copy a conversation, or its first entries, under another id, with the memory it had then.

        Args:
            session_id: The conversation.
            new_session_id: Its copy.
            keep_entries: How many entries to copy; ``None``: all. As for :meth:`rewind`.

        Returns:
            How many entries the copy has.

        Raises:
            UserError: There is a conversation of that id already.
        """
        ...

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        """Forget everything after the first entries; memory of what is forgotten goes with it.

        A cut inside a turn is moved to before it: a call is never kept without its result. A run
        that is cut loses its ``meta``.

        Args:
            session_id: The conversation.
            keep_entries: How many entries stay, counted over all segments.

        Returns:
            How many entries were forgotten.

        Raises:
            UserError: ``keep_entries`` is negative.
        """
        ...
