"""Conversations in a SQLite file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from lovia.stores.conflicts import session_taken
from lovia.stores.cutting import fitting, head_of
from lovia.stores.memory import MEMORIES_KEPT
from lovia.stores.session import PolicyMemory, Segment, SharedSession
from lovia.stores.sqlite_file import SQLiteFile, SQLiteStore
from lovia.transcript.codec import entries_from_json, entries_to_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["SQLiteSession"]

_SCHEMA: Final = (
    (
        """CREATE TABLE lovia_sessions (
            session_id TEXT PRIMARY KEY,
            version INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE lovia_segments (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES lovia_sessions,
            run_id TEXT NOT NULL,
            entries TEXT NOT NULL,
            meta TEXT,
            UNIQUE (session_id, run_id)
        )""",
        """CREATE TABLE lovia_policy_memories (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES lovia_sessions,
            state TEXT NOT NULL,
            entries INTEGER NOT NULL,
            chain TEXT NOT NULL
        )""",
        "CREATE INDEX lovia_policy_memories_of ON lovia_policy_memories (session_id, id)",
    ),
)


class SQLiteSession(SQLiteStore, SharedSession):
    """Keeps conversations in a SQLite file, a row a run, that several processes may share.

    Args:
        path: The file; other stores may use the same one.
        wal: Whether readers and a writer work side by side (write-ahead log).
        timeout: Seconds to wait for other writers.
        durable: Whether a segment survives a power failure too.
    """

    def __init__(
        self, path: str | Path, *, wal: bool = True, timeout: float = 30.0, durable: bool = False
    ) -> None:
        self._file = SQLiteFile(
            path, component="sessions", schema=_SCHEMA, timeout=timeout, durable=durable, wal=wal
        )

    async def segments(self, session_id: str) -> list[Segment]:
        """Return the segments of a conversation, oldest first; none when it is unknown."""
        return await self._file.read(lambda db: _segments(db, session_id))

    async def recall(self, session_id: str) -> tuple[int, PolicyMemory | None]:
        """Return the conversation's version, and what policies remember of it."""

        def work(db: sqlite3.Connection) -> tuple[int, PolicyMemory | None]:
            memories = _memories(db, session_id, newest=1)
            return _version(db, session_id), memories[-1] if memories else None

        return await self._file.read(work)

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
        run = run_id or uuid4().hex

        def work(db: sqlite3.Connection) -> None:
            version = _version(db, session_id)
            _create(db, session_id)
            added = _insert(db, session_id, [Segment(run, entries, meta)])
            if not added:
                return
            if memory is not None and seen == version:
                _keep(db, session_id, [memory])
            _move_on(db, session_id)

        await self._file.write(work)
        return run

    async def remember(self, session_id: str, memory: PolicyMemory, *, seen: int) -> bool:
        """Replace what policies remember, if ``seen`` is still the version."""

        def work(db: sqlite3.Connection) -> bool:
            if _version(db, session_id) != seen:
                return False
            _create(db, session_id)
            _keep(db, session_id, [memory])
            _move_on(db, session_id)
            return True

        return await self._file.write(work)

    async def fork(
        self, session_id: str, new_session_id: str, *, keep_entries: int | None = None
    ) -> int:
        """Copy a conversation, or its first entries, under another id."""

        def work(db: sqlite3.Connection) -> int:
            if _segments(db, new_session_id):
                raise session_taken(new_session_id)
            segments = _segments(db, session_id)
            if keep_entries is not None:
                segments = head_of(segments, keep_entries)
            copied = sum(len(segment.entries) for segment in segments)
            _create(db, new_session_id)
            _insert(db, new_session_id, segments)
            _keep(db, new_session_id, fitting(_memories(db, session_id), copied))
            _move_on(db, new_session_id)
            return copied

        return await self._file.write(work)

    async def rewind(self, session_id: str, *, keep_entries: int) -> int:
        """Forget everything after the first entries."""

        def work(db: sqlite3.Connection) -> int:
            before = _segments(db, session_id)
            after = head_of(before, keep_entries)
            removed = _length(before) - _length(after)
            if not removed:
                return 0
            same = [old for old, new in zip(before, after, strict=False) if old is new]
            changed = before[len(same) :]
            db.executemany(
                "DELETE FROM lovia_segments WHERE session_id = ? AND run_id = ?",
                [(session_id, segment.run_id) for segment in changed],
            )
            _insert(db, session_id, after[len(same) :])
            db.execute(
                "DELETE FROM lovia_policy_memories WHERE session_id = ? AND entries > ?",
                (session_id, _length(after)),
            )
            _move_on(db, session_id)
            return removed

        return await self._file.write(work)

    async def clear(self, session_id: str) -> None:
        """Forget a conversation."""

        def work(db: sqlite3.Connection) -> None:
            # Its version stays: who read the conversation before must not take the next for it.
            db.execute("DELETE FROM lovia_segments WHERE session_id = ?", (session_id,))
            db.execute("DELETE FROM lovia_policy_memories WHERE session_id = ?", (session_id,))
            _move_on(db, session_id)

        await self._file.write(work)


def _length(segments: Iterable[Segment]) -> int:
    return sum(len(segment.entries) for segment in segments)


def _version(db: sqlite3.Connection, session_id: str) -> int:
    found = db.execute("SELECT version FROM lovia_sessions WHERE session_id = ?", (session_id,))
    row = found.fetchone()
    return row[0] if row else 0


def _create(db: sqlite3.Connection, session_id: str) -> None:
    db.execute("INSERT OR IGNORE INTO lovia_sessions VALUES (?, 0)", (session_id,))


def _move_on(db: sqlite3.Connection, session_id: str) -> None:
    db.execute(
        "UPDATE lovia_sessions SET version = version + 1 WHERE session_id = ?", (session_id,)
    )


def _segments(db: sqlite3.Connection, session_id: str) -> list[Segment]:
    rows = db.execute(
        "SELECT run_id, entries, meta FROM lovia_segments WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    return [
        Segment(run_id, entries_from_json(entries), None if meta is None else json.loads(meta))
        for run_id, entries, meta in rows
    ]


def _insert(db: sqlite3.Connection, session_id: str, segments: Iterable[Segment]) -> int:
    """Add segments that are not there yet and return how many."""
    rows = [
        (
            session_id,
            segment.run_id,
            entries_to_json(segment.entries),
            None if segment.meta is None else json.dumps(segment.meta),
        )
        for segment in segments
    ]
    return db.executemany(
        "INSERT OR IGNORE INTO lovia_segments (session_id, run_id, entries, meta)"
        " VALUES (?, ?, ?, ?)",
        rows,
    ).rowcount


def _memories(
    db: sqlite3.Connection, session_id: str, *, newest: int = MEMORIES_KEPT
) -> list[PolicyMemory]:
    """Return the newest memories, oldest first."""
    rows = db.execute(
        "SELECT state, entries, chain FROM lovia_policy_memories WHERE session_id = ?"
        " ORDER BY id DESC LIMIT ?",
        (session_id, newest),
    ).fetchall()
    return [PolicyMemory(json.loads(state), entries, chain) for state, entries, chain in rows[::-1]]


def _keep(db: sqlite3.Connection, session_id: str, memories: Iterable[PolicyMemory]) -> None:
    """Add memories, and forget the oldest when there are too many."""
    rows = [(session_id, json.dumps(m.state), m.entries, m.chain) for m in memories]
    db.executemany(
        "INSERT INTO lovia_policy_memories (session_id, state, entries, chain) VALUES (?, ?, ?, ?)",
        rows,
    )
    db.execute(
        "DELETE FROM lovia_policy_memories WHERE session_id = ? AND id NOT IN"
        " (SELECT id FROM lovia_policy_memories WHERE session_id = ? ORDER BY id DESC LIMIT ?)",
        (session_id, session_id, MEMORIES_KEPT),
    )
