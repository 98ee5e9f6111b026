"""Stores that keep everything in this process, for tests and short-lived programs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lovia.stores.session import Segment, Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["InMemorySession"]


class InMemorySession(Session):
    """Keeps conversations in a dictionary; what it hands out is never what it keeps."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, Segment]] = {}

    async def segments(self, session_id: str) -> list[Segment]:
        """Return the segments of a conversation, oldest first; none when it is unknown."""
        kept = self._sessions.get(session_id, {}).values()
        return [
            Segment(segment.run_id, list(segment.entries), copy.deepcopy(segment.meta))
            for segment in kept
        ]

    async def append(
        self,
        session_id: str,
        entries: list[TranscriptEntry],
        *,
        run_id: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> str:
        """Add a run's segment; a run that is there already is not added again."""
        run_id = run_id or uuid4().hex
        segment = Segment(run_id, list(entries), copy.deepcopy(meta))
        self._sessions.setdefault(session_id, {}).setdefault(run_id, segment)
        return run_id

    async def clear(self, session_id: str) -> None:
        """Forget a conversation."""
        self._sessions.pop(session_id, None)
