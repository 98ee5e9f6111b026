"""Runs in a SQLite file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from lovia.stores.checkpoint import RunHead, RunSnapshot, load_entry, load_json
from lovia.stores.conflicts import expected_before, run_moved_on
from lovia.stores.sqlite_file import SQLiteFile, SQLiteStore
from lovia.transcript.codec import entry_to_dict

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from lovia.transcript.entries import ToolResultEntry, TranscriptEntry

__all__ = ["SQLiteCheckpointer"]

_SCHEMA: Final = (
    (
        """CREATE TABLE lovia_runs (
            run_id TEXT PRIMARY KEY,
            sequence INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            head TEXT NOT NULL,
            state TEXT NOT NULL,
            state_revision TEXT
        ) WITHOUT ROWID""",
        """CREATE TABLE lovia_run_entries (
            run_id TEXT NOT NULL REFERENCES lovia_runs ON DELETE CASCADE,
            position INTEGER NOT NULL,
            entry TEXT NOT NULL,
            PRIMARY KEY (run_id, position)
        )""",
        """CREATE TABLE lovia_run_calls (
            run_id TEXT NOT NULL REFERENCES lovia_runs ON DELETE CASCADE,
            position INTEGER NOT NULL,
            result TEXT,
            PRIMARY KEY (run_id, position)
        ) WITHOUT ROWID""",
    ),
)

_INSERT: Final = (
    "INSERT INTO lovia_runs (sequence, entries, head, run_id, state) VALUES (?, ?, ?, ?, '{}')"
)
_REPLACE: Final = "UPDATE lovia_runs SET sequence = ?, entries = ?, head = ? WHERE run_id = ?"


class SQLiteCheckpointer(SQLiteStore):
    """Keeps runs in a SQLite file, a row an entry, that several processes may share.

    A save adds rows for the new entries and replaces one row for the head; nothing that is there is
    read or written again. The memory of policies is written when its revision is another one.

    Args:
        path: The file; other stores may use the same one.
        wal: Whether readers and a writer work side by side (write-ahead log).
        timeout: Seconds to wait for other writers.
        durable: Whether a save survives a power failure too. A killed process never loses one.
    """

    def __init__(
        self, path: str | Path, *, wal: bool = True, timeout: float = 30.0, durable: bool = False
    ) -> None:
        self._file = SQLiteFile(
            path,
            component="checkpoints",
            schema=_SCHEMA,
            timeout=timeout,
            durable=durable,
            wal=wal,
        )

    async def append(self, run_id: str, entries: list[TranscriptEntry], head: RunHead) -> int:
        """Add entries to a run's log and replace its head, in one transaction.

        Returns:
            The characters that were written, which are bytes, as all of it is ASCII.

        Raises:
            CheckpointConflict: Somebody else has saved the run since.
        """

        def work(db: sqlite3.Connection) -> int:
            lines = [json.dumps(entry_to_dict(entry)) for entry in entries]
            known, sequence, start, revision = _found(db, run_id)
            if head.log is not None:
                if (sequence, start) != expected_before(head.log, entries):
                    raise run_moved_on(run_id)
                sequence = head.log.sequence
            written = head.to_json(with_state=False)
            db.execute(
                _REPLACE if known else _INSERT, (sequence, start + len(lines), written, run_id)
            )
            rows = [(run_id, start + index, line) for index, line in enumerate(lines)]
            db.executemany("INSERT INTO lovia_run_entries VALUES (?, ?, ?)", rows)
            state = 0
            if revision is None or revision != head.context_revision:
                state = _write_state(db, run_id, head)
            return len(written) + sum(map(len, lines)) + state

        return await self._file.write(work)

    async def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run as it was saved last, or ``None`` when it is unknown.

        Raises:
            CheckpointDamaged: What is there is not what was saved.
        """

        def work(db: sqlite3.Connection) -> RunSnapshot | None:
            found = db.execute("SELECT head, state FROM lovia_runs WHERE run_id = ?", (run_id,))
            row = found.fetchone()
            if row is None:
                return None
            head = RunHead.from_dict(load_json(row[0], run_id))
            head.context_state = load_json(row[1], run_id)
            return RunSnapshot.from_parts(
                run_id, _entries(db, run_id), head, calls=_calls(db, run_id)
            )

        return await self._file.read(work)

    async def delete(self, run_id: str) -> None:
        """Forget a run."""
        await self._file.write(
            lambda db: db.execute("DELETE FROM lovia_runs WHERE run_id = ?", (run_id,))
        )

    async def begin(self, run_id: str, position: int) -> None:
        """Note that a call is about to run."""

        def work(db: sqlite3.Connection) -> None:
            noted = db.execute(
                "INSERT OR IGNORE INTO lovia_run_calls SELECT run_id, ?, NULL"
                " FROM lovia_runs WHERE run_id = ?",
                (position, run_id),
            )
            if not noted.rowcount:
                raise run_moved_on(run_id)

        await self._file.write(work)

    async def withdraw(self, run_id: str, position: int) -> None:
        """Take a note back: the call was stopped before it ran."""
        forget = "DELETE FROM lovia_run_calls WHERE run_id = ? AND position = ?"
        await self._file.write(lambda db: db.execute(forget, (run_id, position)))

    async def finish(self, run_id: str, position: int, result: ToolResultEntry) -> None:
        """Keep the result of a call that is done before an earlier one of its turn."""

        def work(db: sqlite3.Connection) -> None:
            kept = db.execute(
                "INSERT INTO lovia_run_calls SELECT run_id, ?, ? FROM lovia_runs WHERE run_id = ?"
                " ON CONFLICT DO UPDATE SET result = excluded.result",
                (position, json.dumps(entry_to_dict(result)), run_id),
            )
            if not kept.rowcount:
                raise run_moved_on(run_id)

        await self._file.write(work)


def _found(db: sqlite3.Connection, run_id: str) -> tuple[bool, int, int, str | None]:
    """Return whether a run is there, its last save, its entries, its state's revision."""
    found = db.execute(
        "SELECT sequence, entries, state_revision FROM lovia_runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    return (True, *found) if found else (False, 0, 0, None)


def _write_state(db: sqlite3.Connection, run_id: str, head: RunHead) -> int:
    state = json.dumps(head.context_state)
    db.execute(
        "UPDATE lovia_runs SET state = ?, state_revision = ? WHERE run_id = ?",
        (state, head.context_revision, run_id),
    )
    return len(state)


def _entries(db: sqlite3.Connection, run_id: str) -> list[TranscriptEntry]:
    rows = db.execute(
        "SELECT entry FROM lovia_run_entries WHERE run_id = ? ORDER BY position", (run_id,)
    )
    return [load_entry(row[0], run_id) for row in rows]


def _calls(db: sqlite3.Connection, run_id: str) -> dict[int, ToolResultEntry | None]:
    rows = db.execute("SELECT position, result FROM lovia_run_calls WHERE run_id = ?", (run_id,))
    calls: dict[int, Any] = {
        position: None if result is None else load_entry(result, run_id)
        for position, result in rows
    }
    return calls
