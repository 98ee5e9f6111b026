"""Stores that keep everything in this process, for tests and short-lived programs."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from lovia.stores.checkpoint import RunHead, RunSnapshot
from lovia.stores.conflicts import expected_before, run_moved_on, session_taken
from lovia.stores.cutting import fitting, head_of
from lovia.stores.session import PolicyMemory, Segment, SharedSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.transcript.entries import ToolResultEntry, TranscriptEntry

__all__ = ["MEMORIES_KEPT", "InMemoryCheckpointer", "InMemorySession"]

#: Memories of policies that a conversation keeps, newest first, for forks and rewinds.
MEMORIES_KEPT: Final = 16


@dataclass
class _Kept:
    segments: dict[str, Segment] = field(default_factory=dict)
    memories: deque[PolicyMemory] = field(default_factory=lambda: deque(maxlen=MEMORIES_KEPT))
    version: int = 0


class InMemorySession(SharedSession):
    """Keeps conversations in a dictionary; what it hands out is never what it keeps."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}

    async def segments(self, session_id: str) -> list[Segment]:
        """Return the segments of a conversation, oldest first; none when it is unknown."""
        kept = self._sessions.get(session_id, _Kept())
        return [_copied(segment) for segment in kept.segments.values()]

    async def recall(self, session_id: str) -> tuple[int, PolicyMemory | None]:
        """Return the conversation's version, and what policies remember of it."""
        kept = self._sessions.get(session_id, _Kept())
        return kept.version, copy.deepcopy(kept.memories[-1]) if kept.memories else None

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
        """Add a run's segment; a run that is there already is not added again."""
        run_id = run_id or uuid4().hex
        kept = self._sessions.setdefault(session_id, _Kept())
        if run_id not in kept.segments:
            if memory is not None and seen == kept.version:
                kept.memories.append(copy.deepcopy(memory))
            kept.segments[run_id] = _copied(Segment(run_id, entries, meta))
            kept.version += 1
        return run_id

    async def remember(self, session_id: str, memory: PolicyMemory, *, seen: int) -> bool:
        """Replace what policies remember, if ``seen`` is still the version."""
        kept = self._sessions.setdefault(session_id, _Kept())
        if seen != kept.version:
            return False
        kept.memories.append(copy.deepcopy(memory))
        kept.version += 1
        return True

    async def fork(
        self, session_id: str, new_session_id: str, *, keep_entries: int | None = None
    ) -> int:
        """Copy a conversation, or its first entries, under another id."""
        source = self._sessions.get(session_id, _Kept())
        target = self._sessions.setdefault(new_session_id, _Kept())
        if target.segments:
            raise session_taken(new_session_id)
        segments = list(source.segments.values())
        if keep_entries is not None:
            segments = head_of(segments, keep_entries)
        copied = sum(len(segment.entries) for segment in segments)
        target.segments = {segment.run_id: _copied(segment) for segment in segments}
        target.memories.extend(copy.deepcopy(fitting(source.memories, copied)))
        target.version += 1
        return copied

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        """Forget everything after the first entries."""
        kept = self._sessions.get(session_id, _Kept())
        before = sum(len(segment.entries) for segment in kept.segments.values())
        segments = head_of(kept.segments.values(), keep_entries)
        after = sum(len(segment.entries) for segment in segments)
        if after < before:
            kept.segments = {segment.run_id: segment for segment in segments}
            kept.memories = deque(fitting(kept.memories, after), maxlen=MEMORIES_KEPT)
            kept.version += 1
        return before - after

    async def clear(self, session_id: str) -> None:
        """Forget a conversation."""
        kept = self._sessions.get(session_id)
        if kept is not None:
            # The version stays: who read the conversation before must not take the next for it.
            self._sessions[session_id] = _Kept(version=kept.version + 1)


@dataclass
class _Run:
    head: RunHead
    state: dict[str, Any]
    entries: list[TranscriptEntry] = field(default_factory=list)
    calls: dict[int, ToolResultEntry | None] = field(default_factory=dict)


class InMemoryCheckpointer:
    """Keeps runs in a dictionary; what it hands out is never what it keeps.

    Attributes:
        name: Names the kind of store in telemetry.
    """

    name = "memory"

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    async def append(self, run_id: str, entries: list[TranscriptEntry], head: RunHead) -> None:
        """Add entries to a run's log and replace its head."""
        kept = self._runs.get(run_id)
        if head.log is not None:
            sequence = kept.head.log.sequence if kept and kept.head.log else 0
            length = len(kept.entries) if kept else 0
            if (sequence, length) != expected_before(head.log, entries):
                raise run_moved_on(run_id)
        # Entries are immutable; the memory of policies is copied when it is another one.
        same = kept is not None and head.context_revision == kept.head.context_revision
        if kept is None or not same or head.context_revision is None:
            state = copy.deepcopy(head.context_state)
        else:
            state = kept.state
        kept = kept or _Run(head, state)
        kept.head, kept.state = replace(head, usage=head.usage.clone(), context_state=state), state
        kept.entries.extend(entries)
        self._runs[run_id] = kept

    async def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run as it was saved last, or ``None`` when it is unknown."""
        kept = self._runs.get(run_id)
        if kept is None:
            return None
        head = copy.deepcopy(kept.head)
        return RunSnapshot.from_parts(run_id, list(kept.entries), head, calls=kept.calls)

    async def delete(self, run_id: str) -> None:
        """Forget a run."""
        self._runs.pop(run_id, None)

    async def begin(self, run_id: str, position: int) -> None:
        """Note that a call is about to run."""
        run = self._runs.get(run_id)
        if run is None or position in run.calls:
            raise run_moved_on(run_id)
        run.calls[position] = None

    async def withdraw(self, run_id: str, position: int) -> None:
        """Take a note back: the call was stopped before it ran."""
        run = self._runs.get(run_id)
        if run is not None:
            run.calls.pop(position, None)

    async def finish(self, run_id: str, position: int, result: ToolResultEntry) -> None:
        """Keep the result of a call that is done before an earlier one of its turn."""
        run = self._runs.get(run_id)
        if run is None:
            raise run_moved_on(run_id)
        run.calls[position] = result


def _copied(segment: Segment) -> Segment:
    return Segment(segment.run_id, list(segment.entries), copy.deepcopy(segment.meta))
