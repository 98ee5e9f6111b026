"""What a session is: the conversation that runs add to, kept by whoever implements this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Segment", "Session"]


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
