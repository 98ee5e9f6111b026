"""A SQLite file that several stores, threads and processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from lovia.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["SQLiteFile", "SQLiteStore"]

T = TypeVar("T")

# Stores have threads of their own: tools that fill the common ones must not keep a run from being
# saved. A file takes one writer at a time, so few are enough.
_THREADS: Final = 4
_limiter: Final[RunVar[anyio.CapacityLimiter]] = RunVar("lovia_store_threads")
# The 0.9 line has a table `lovia_schema` in its files, with other columns; hence another name.
_VERSIONS: Final = """
    CREATE TABLE IF NOT EXISTS lovia_components (
        component TEXT PRIMARY KEY,
        version INTEGER NOT NULL
    )
"""


class SQLiteFile:
    """One connection to a file, opened when it is first used and used by one thread at a time.

    Args:
        path: The file; it is created when it is not there.
        component: Names the tables of one store, which have a version of their own.
        schema: The statements that bring the tables from each version to the next one, from
            nothing to the newest.
        timeout: Seconds to wait for other writers.
        durable: Whether a write survives a power failure too, at the cost of waiting for the disk.
            Without it only a killed process loses nothing.
        wal: Whether readers and a writer work side by side (write-ahead log).
    """

    def __init__(
        self,
        path: str | Path,
        *,
        component: str,
        schema: Sequence[Sequence[str]],
        timeout: float,
        durable: bool,
        wal: bool,
    ) -> None:
        self.path: str = os.fspath(path)
        self._component = component
        self._schema = schema
        self._timeout = timeout
        self._durable = durable
        self._wal = wal
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process: int | None = None  # a connection must not be used after a fork

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a worker thread; it sees the file as it is at one moment."""
        return await _in_thread(partial(self._transaction, "BEGIN", work))

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a worker thread as one transaction: all of it, or nothing if it raises.

        A cancellation waits for the end of the transaction, so that what was done is known.
        """
        return await _in_thread(partial(self._transaction, "BEGIN IMMEDIATE", work))

    def close(self) -> None:
        """Close the connection; the next use opens another one."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            connection = self._open()
            return _committed(connection, begin, work)

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        connection = sqlite3.connect(
            self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if self._wal:
            _switch_to_wal(connection, self._timeout)
        connection.execute(f"PRAGMA synchronous={'FULL' if self._durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys=ON")
        if self._version(connection) != len(self._schema):
            _committed(connection, "BEGIN IMMEDIATE", self._migrate)

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the version of the component's tables, 0 when there are none."""
        try:
            found = connection.execute(
                "SELECT version FROM lovia_components WHERE component = ?", (self._component,)
            )
        except sqlite3.OperationalError:
            return 0  # no table of versions: a new file, or one of another program
        with closing(found):
            row = found.fetchone()
        return int(row[0]) if row else 0

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute(_VERSIONS)
        version, newest = self._version(connection), len(self._schema)
        if version > newest:
            message = (
                f"{self.path}: the {self._component} tables have version {version}; "
                f"this release knows versions up to {newest}."
            )
            raise StoreError(message, hint="Use the release that wrote the file, or a newer one.")
        for statements in self._schema[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(
            "INSERT OR REPLACE INTO lovia_components VALUES (?, ?)", (self._component, newest)
        )


class SQLiteStore:
    """What all stores in SQLite files have in common: the file, and closing it.

    Closing is optional; a store that is collected closes its file.

    Attributes:
        name: Names the kind of store in telemetry.
    """

    name = "sqlite"
    _file: SQLiteFile

    async def aclose(self) -> None:
        """Close the file; the next use opens it again."""
        await _in_thread(self._file.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    def __del__(self) -> None:
        file: Any = getattr(self, "_file", None)
        if file is not None:
            file.close()


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(_THREADS)
        _limiter.set(limiter)
    return await anyio.to_thread.run_sync(work, limiter=limiter)


def _committed(
    connection: sqlite3.Connection, begin: str, work: Callable[[sqlite3.Connection], T]
) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _switch_to_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch to the write-ahead log; while another process does so, SQLite does not wait."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return
