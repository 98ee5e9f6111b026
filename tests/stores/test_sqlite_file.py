"""The file below the SQLite stores."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia.errors import StoreError
from lovia.stores import SQLiteCheckpointer, SQLiteSession
from lovia.stores.sqlite_file import SQLiteFile
from tests.notation import U

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


def file_of(path: Path, *schema: list[str], **options: Any) -> SQLiteFile:
    """Return a file with a schema of so many versions."""
    settings: dict[str, Any] = {"timeout": 5.0, "durable": False, "wal": True, **options}
    return SQLiteFile(path / "f.db", component="c", schema=schema, **settings)


async def said(session: SQLiteSession, session_id: str) -> None:
    """Append one message."""
    await session.append(session_id, [U()])


ONE, TWO = ["CREATE TABLE t (x)"], ["ALTER TABLE t ADD COLUMN y"]


async def test_stores_share_a_file(tmp_path: Path) -> None:
    """Sessions and runs may live side by side in one file, and survive its closing."""
    path = tmp_path / "all.db"
    async with SQLiteSession(path) as session, SQLiteCheckpointer(path) as runs:
        await session.append("s", [U("hi")])
        assert await runs.load("r") is None
        await session.aclose()
        assert await session.load("s") == [U("hi")]


async def test_a_file_of_the_0_9_line_can_be_shared(tmp_path: Path) -> None:
    """Tables of that line stay as they are, also the one whose purpose is that of our own."""
    path = tmp_path / "chat.db"
    with closing(sqlite3.connect(path)) as former, former:
        former.execute("CREATE TABLE lovia_schema (store TEXT PRIMARY KEY, version INTEGER)")
        former.execute("INSERT INTO lovia_schema VALUES ('sessions', 7)")
    for number in (1, 2):  # opened again, the file knows its tables
        async with SQLiteSession(path) as session:
            await said(session, "s")
            assert await session.load("s") == [U()] * number
    with closing(sqlite3.connect(path)) as former:
        rows = former.execute("SELECT store, version FROM lovia_schema").fetchall()
    assert rows == [("sessions", 7)]


async def test_a_file_is_brought_to_the_newest_version(tmp_path: Path) -> None:
    """Tables of an older version get what is new; what is in them stays."""
    old = file_of(tmp_path, ONE)
    await old.write(lambda db: db.execute("INSERT INTO t VALUES (1)"))
    old.close()
    new = file_of(tmp_path, ONE, TWO)
    assert await new.read(lambda db: db.execute("SELECT * FROM t").fetchall()) == [(1, None)]
    new.close()
    again = file_of(tmp_path, ONE, TWO)
    assert await again.read(lambda db: db.execute("SELECT * FROM t").fetchall()) == [(1, None)]
    again.close()


async def test_a_file_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    """Tables of a version that is not known yet are not touched."""
    new = file_of(tmp_path, ONE, TWO)
    await new.read(lambda _db: None)
    new.close()
    old = file_of(tmp_path, ONE)
    with pytest.raises(StoreError, match="version 2"):
        await old.read(lambda _db: None)


async def test_a_schema_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """A migration is one transaction."""
    broken = file_of(tmp_path, [*ONE, "NO SQL"])
    with pytest.raises(sqlite3.OperationalError):
        await broken.read(lambda _db: None)
    with closing(sqlite3.connect(tmp_path / "f.db")) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == []


async def test_what_raises_writes_nothing(tmp_path: Path) -> None:
    """A transaction whose work raises is rolled back, and the next one works."""
    file = file_of(tmp_path, ONE)

    def half(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        raise KeyError("half-way")

    with pytest.raises(KeyError):
        await file.write(half)
    assert await file.read(lambda db: db.execute("SELECT * FROM t").fetchall()) == []
    file.close()


@pytest.mark.parametrize(("wal", "mode"), [(True, "wal"), (False, "delete")])
@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
async def test_how_a_file_is_written_can_be_chosen(
    tmp_path: Path, wal: bool, mode: str, durable: bool, level: int
) -> None:
    """Write-ahead log and waiting for the disk are the caller's choice."""
    file = file_of(tmp_path, ONE, wal=wal, durable=durable)
    for pragma, value in (("journal_mode", mode), ("synchronous", level)):
        found = await file.read(lambda db, p=pragma: db.execute(f"PRAGMA {p}").fetchone())  # type: ignore[misc]
        assert found == (value,)
    file.close()


async def test_a_cancelled_write_is_whole_or_nothing(tmp_path: Path) -> None:
    """Cancelling waits for the transaction in hand, so that what was written is known."""
    file = file_of(tmp_path, ONE)
    entered = anyio.Event()

    def slow(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO t VALUES (1)")
        anyio.from_thread.run_sync(entered.set)
        db.execute("INSERT INTO t VALUES (2)")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(file.write, slow)
        await entered.wait()
        tasks.cancel_scope.cancel()
    rows = await file.read(lambda db: db.execute("SELECT x FROM t").fetchall())
    assert rows == [(1,), (2,)]
    file.close()


async def test_threads_take_turns(tmp_path: Path) -> None:
    """Many writes at once through one store all arrive."""
    async with SQLiteSession(tmp_path / "s.db") as session, anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(said, session, f"s{number % 3}")
    async with SQLiteSession(tmp_path / "s.db") as session:
        assert sum([len(await session.load(f"s{n}")) for n in range(3)]) == 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_opens_the_file_anew(tmp_path: Path) -> None:
    """A store that is inherited by a forked process does not use its parent's connection."""
    session = SQLiteSession(tmp_path / "s.db")

    async def use() -> Any:
        await session.append("s", [U("parent")])
        return session._file._connection

    inherited = anyio.run(use)
    child = os.fork()
    if not child:  # pragma: no cover - in the child
        ok = False
        try:
            ok = anyio.run(_used_in_child, session, inherited)
        finally:
            os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(anyio.run(session.load, "s")) == 2
    session._file.close()


async def _used_in_child(session: SQLiteSession, inherited: Any) -> bool:  # pragma: no cover
    await session.append("s", [U("child")])
    return session._file._connection is not inherited


def test_a_store_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    """Nobody has to close a store; several loops may use one after another."""
    session = SQLiteSession(tmp_path / "s.db")
    for _ in range(2):
        anyio.run(said, session, "s")
    connection = session._file._connection
    assert connection is not None
    del session
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")
