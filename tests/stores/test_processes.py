"""Several processes on one file."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from lovia import CompactingContextPolicy
from lovia.context import PolicyContext
from lovia.context.pipeline.saved import load
from lovia.runtime.conversation import read_conversation
from lovia.stores import SQLiteCheckpointer, SQLiteSession
from lovia.transcript.entries import text_of
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def together(*programs: Sequence[object]) -> list[Any]:
    """Run programs of `worker.py` at the same time and return what each printed."""
    command = [sys.executable, "-m", "tests.stores.worker"]
    started = [
        subprocess.Popen([*command, *map(str, program)], cwd=REPO, stdout=subprocess.PIPE)
        for program in programs
    ]
    printed = []
    for process in started:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        printed.append(json.loads(out))
    return printed


def test_conversations_grow_from_several_processes(tmp_path: Path) -> None:
    """Every run of every process is there once and whole, in the order of its process."""
    path, names, runs = tmp_path / "s.db", ["a", "b", "c"], 40
    won = together(*[("talk", path, name, runs) for name in names])

    async def read() -> Any:
        async with SQLiteSession(path) as session:
            return await session.segments("s"), await session.recall("s")

    segments, (version, _) = anyio.run(read)
    assert version == len(segments) == len(names) * runs
    assert all(len(segment.entries) == 3 for segment in segments)
    for name in names:
        mine = [s.run_id for s in segments if s.run_id.startswith(name)]
        assert mine == [f"{name}-{number}" for number in range(runs)]
    assert sum(won) > 0


def test_memory_is_never_overwritten_unread(tmp_path: Path) -> None:
    """A number that several processes count up by compare and set loses no step."""
    path = tmp_path / "s.db"
    together(*[("count", path, 50)] * 3)

    async def read() -> Any:
        async with SQLiteSession(path) as session:
            return await session.recall("s")

    version, memory = anyio.run(read)
    assert memory.state == {"n": 150}
    assert version == 150


def test_one_run_is_saved_by_one_process_at_a_time(tmp_path: Path) -> None:
    """Of processes that save the same run each save and each call is done by exactly one."""
    path, saves = tmp_path / "c.db", 40
    printed = together(*[("save", path, "r", saves)] * 2, ("save", path, "other", saves))
    *same, other = printed
    assert other == [saves, saves]

    async def read() -> Any:
        async with SQLiteCheckpointer(path) as store:
            return await store.load("r")

    saved = anyio.run(read)
    assert sum(mine for mine, _ in same) == len(saved.entries) == saved.log.sequence
    assert sum(begun for _, begun in same) == len(saved.calls) <= saves


def test_compaction_by_several_processes_loses_nothing(tmp_path: Path) -> None:
    """Two converse and a third compacts: who is late reads again, and no entry goes missing."""
    path, runs = tmp_path / "s.db", 16
    *summaries, _ = together(
        ("converse", path, "a", runs), ("converse", path, "b", runs), ("compact", path, runs)
    )
    assert sum(summaries) > 1

    async def read() -> Any:
        async with SQLiteSession(path) as session:
            return await read_conversation(session, "s")

    conversation = anyio.run(read)
    said = [text_of(entry) for entry in conversation.entries]
    for name in ("a", "b"):
        mine = [line.partition(":")[0] for line in said if line.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(runs)]
    state = anyio.run(conversation.usable_state, "s")
    (kept,) = [part["compacting"] for part in state.values()]
    decisions = load(kept).decisions
    assert decisions.summary is not None
    assert not decisions.dropped
    policy = CompactingContextPolicy(max_entries=None, context_window_tokens=10**6)
    (memory,) = state.values()
    ctx = PolicyContext(state=memory, session_id="s")
    view = anyio.run(partial(policy.apply, conversation.entries, ctx=ctx)).entries
    shown = {id(entry) for entry in view}
    for index, entry in enumerate(conversation.entries):
        assert id(entry) in shown or index in decisions.covers or index in decisions.snips
