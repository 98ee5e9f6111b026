"""An archive in memory."""

from __future__ import annotations

import pytest

from lovia.context.archive import CompactionArchive, MemoryArchive
from lovia.context.policy import PolicyContext
from lovia.errors import ArchiveError
from lovia.transcript.entries import InputEntry

pytestmark = pytest.mark.anyio

CTX = PolicyContext(session_id="s1", run_id="r1")


async def test_what_was_saved_is_there() -> None:
    """Results and entries come back, and equal outputs are kept once."""
    archive = MemoryArchive()
    assert isinstance(archive, CompactionArchive)
    first = await archive.save_tool_result("one", call_id="c1", ctx=CTX)
    second = await archive.save_tool_result("two", call_id="c1", ctx=CTX)
    assert await archive.save_tool_result("two", call_id="c1", ctx=CTX) == second
    entries = await archive.save_transcript([InputEntry("user", "hi")], ctx=CTX, reason="x")
    assert await archive.load(first) == "one"
    assert await archive.load(second.uri) == "two"
    assert await archive.load(entries) == [InputEntry("user", "hi")]
    assert (first.size, entries.entries) == (3, 1)
    assert repr(archive) == "MemoryArchive(3 kept)"


async def test_conversations_keep_apart() -> None:
    """A reference belongs to the conversation that it was made for, and goes with it."""
    archive = MemoryArchive()
    ref = await archive.save_tool_result("x", call_id="c", ctx=CTX)
    run = await archive.save_tool_result("x", call_id="c", ctx=PolicyContext(run_id="r1"))
    assert archive.owns(ref, session_id="s1")
    assert not archive.owns(ref, session_id="s2")
    assert not archive.owns("memory:tool-results/s1/other.txt", session_id="s1")
    assert archive.owns(run, session_id=None, run_id="r1")
    assert not archive.owns(run, session_id=None, run_id="r2")
    assert await archive.delete("s1") == 1
    assert await archive.delete(None) == 1
    with pytest.raises(ArchiveError, match="Nothing is archived"):
        await archive.load(ref)
