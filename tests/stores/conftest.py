"""Each kind of store, empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.stores import InMemoryCheckpointer, InMemorySession, SQLiteCheckpointer, SQLiteSession

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["memory", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Return an empty session of each kind."""
    if request.param == "memory":
        yield InMemorySession()
        return
    made = SQLiteSession(tmp_path / "s.db")
    yield made
    made._file.close()


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Return an empty checkpointer of each kind."""
    if request.param == "memory":
        yield InMemoryCheckpointer()
        return
    made = SQLiteCheckpointer(tmp_path / "c.db")
    yield made
    made._file.close()
