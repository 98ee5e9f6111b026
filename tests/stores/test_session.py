"""Sessions keep conversations as segments."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import InputEntry
from lovia.stores import InMemorySession, Segment, Session

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[InMemorySession])
def session(request: pytest.FixtureRequest) -> Session:
    """Return an empty session of each kind."""
    made: Session = request.param()
    return made


A, B = InputEntry("user", "a"), InputEntry("user", "b")


async def test_segments_come_in_the_order_of_the_runs(session: Session) -> None:
    """Each run is one segment; the conversation is their entries in order; others are apart."""
    assert await session.append("s", [A], run_id="r1", meta={"k": [1]}) == "r1"
    generated = await session.append("s", [B, A])
    await session.append("other", [B])
    assert await session.segments("s") == [
        Segment("r1", [A], {"k": [1]}),
        Segment(generated, [B, A], None),
    ]
    assert await session.load("s") == [A, B, A]
    assert await session.load("nobody") == []


async def test_a_run_is_added_once(session: Session) -> None:
    """Adding a run again changes nothing."""
    await session.append("s", [A], run_id="r1")
    await session.append("s", [B], run_id="r1")
    assert await session.load("s") == [A]


async def test_clear_forgets_one_conversation(session: Session) -> None:
    """Only the named conversation is gone; clearing an unknown one does nothing."""
    await session.append("s", [A])
    await session.append("other", [B])
    await session.clear("s")
    await session.clear("nobody")
    assert await session.load("s") == []
    assert await session.load("other") == [B]


async def test_what_is_kept_cannot_be_edited_from_outside(session: Session) -> None:
    """Neither what was handed over nor what was handed out is what the session keeps."""
    entries: list[Any] = [A]
    meta = {"k": [1]}
    await session.append("s", entries, run_id="r", meta=meta)
    entries.append(B)
    meta["k"].append(2)
    (segment,) = await session.segments("s")
    segment.entries.clear()
    assert segment.meta is not None
    segment.meta["k"].append(3)
    assert await session.segments("s") == [Segment("r", [A], {"k": [1]})]
