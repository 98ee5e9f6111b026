"""Sessions keep conversations as segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import AssistantTextEntry, InputEntry, UserError
from lovia.stores import PolicyMemory, Segment, Session, SharedSession
from tests.notation import C, T, U

if TYPE_CHECKING:
    from lovia import TranscriptEntry

pytestmark = pytest.mark.anyio

A, B = InputEntry("user", "a"), InputEntry("user", "b")


def memory(entries: int, **state: Any) -> PolicyMemory:
    """Return a memory of the first entries."""
    return PolicyMemory(state, entries, f"chain of {entries}")


async def test_segments_come_in_the_order_of_the_runs(session: SharedSession) -> None:
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


async def test_a_run_is_added_once(session: SharedSession) -> None:
    """Adding a run again changes nothing, its version neither."""
    await session.append("s", [A], run_id="r1")
    version, _ = await session.recall("s")
    await session.append("s", [B], run_id="r1", memory=memory(1, x=1), seen=version)
    assert await session.load("s") == [A]
    assert await session.recall("s") == (version, None)


async def test_clear_forgets_one_conversation(session: SharedSession) -> None:
    """Only the named conversation is gone; clearing an unknown one does nothing."""
    await session.append("s", [A])
    await session.append("other", [B])
    await session.clear("s")
    await session.clear("nobody")
    assert await session.load("s") == []
    assert await session.load("other") == [B]


async def test_what_is_kept_cannot_be_edited_from_outside(session: SharedSession) -> None:
    """Neither what was handed over nor what was handed out is what the session keeps."""
    entries: list[Any] = [A]
    meta = {"k": [1]}
    state = {"p": [1]}
    await session.append(
        "s", entries, run_id="r", meta=meta, memory=PolicyMemory(state, 1, "c"), seen=0
    )
    entries.append(B)
    meta["k"].append(2)
    state["p"].append(2)
    (segment,) = await session.segments("s")
    segment.entries.clear()
    assert segment.meta is not None
    segment.meta["k"].append(3)
    _, kept = await session.recall("s")
    assert kept is not None
    kept.state["p"].append(3)
    assert await session.segments("s") == [Segment("r", [A], {"k": [1]})]
    assert (await session.recall("s"))[1] == PolicyMemory({"p": [1]}, 1, "c")


async def test_any_text_survives(session: SharedSession) -> None:
    """Half of a surrogate pair, quotes and line ends come back as they were."""
    odd = InputEntry("user", "\ud800 '\" \n\0 é 漢")
    await session.append("s'; DROP TABLE x", [odd])
    assert await session.load("s'; DROP TABLE x") == [odd]


async def test_all_kinds_are_sessions(session: SharedSession) -> None:
    """Each kind fulfils both protocols."""
    assert isinstance(session, Session)
    assert isinstance(session, SharedSession)


async def test_memory_goes_with_the_segment_that_was_read(session: SharedSession) -> None:
    """A memory is kept when nobody changed the conversation since; the version counts changes."""
    assert await session.recall("s") == (0, None)
    await session.append("s", [A], run_id="r1", memory=memory(1, x=1), seen=0)
    assert await session.recall("s") == (1, memory(1, x=1))
    await session.append("s", [B], run_id="r2")
    assert await session.recall("s") == (2, memory(1, x=1))


async def test_the_loser_s_memory_is_dropped_and_its_segment_kept(session: SharedSession) -> None:
    """Of two runs that read the same version the first one's memory stays; both segments do."""
    await session.append("s", [A], run_id="first", memory=memory(1, by="first"), seen=0)
    await session.append("s", [B], run_id="second", memory=memory(1, by="second"), seen=0)
    assert await session.load("s") == [A, B]
    assert (await session.recall("s"))[1] == memory(1, by="first")


async def test_memory_is_compared_and_set(session: SharedSession) -> None:
    """Setting it needs the newest version; who has an old one is told and reads again."""
    await session.append("s", [A])
    assert not await session.remember("s", memory(1, x=0), seen=0)
    assert await session.remember("s", memory(1, x=1), seen=1)
    assert not await session.remember("s", memory(1, x=2), seen=1)
    assert await session.recall("s") == (2, memory(1, x=1))


async def test_a_cleared_conversation_is_not_taken_for_the_next(session: SharedSession) -> None:
    """A run that read the conversation before it was cleared does not set its memory."""
    await session.append("s", [A])
    seen, _ = await session.recall("s")
    await session.clear("s")
    await session.append("s", [B])
    assert not await session.remember("s", memory(1), seen=seen)


TURNS: list[list[TranscriptEntry]] = [
    [U("one"), AssistantTextEntry("1")],
    [U("two"), C("a"), C("b"), T("a", "x"), T("b", "y"), AssistantTextEntry("2")],
    [U("three"), AssistantTextEntry("3")],
]


async def talk(session: SharedSession, session_id: str = "s") -> None:
    """Hold a conversation of three runs, each with its memory."""
    length = 0
    for number, turn in enumerate(TURNS):
        length += len(turn)
        seen, _ = await session.recall(session_id)
        await session.append(
            session_id,
            turn,
            run_id=f"r{number}",
            meta={"n": number},
            memory=memory(length, n=number),
            seen=seen,
        )


@pytest.mark.parametrize(
    ("keep", "kept", "remembered"),
    [
        (10, 10, 2),  # everything
        (99, 10, 2),
        (9, 9, 1),  # inside the last run
        (8, 8, 1),  # exactly before it
        (7, 7, 0),
        (6, 3, 0),  # inside the batch: moved to before it
        (4, 3, 0),
        (3, 3, 0),
        (2, 2, 0),
        (1, 1, None),
        (0, 0, None),
    ],
)
async def test_a_conversation_is_rewound_at_an_entry(
    session: SharedSession, keep: int, kept: int, remembered: int | None
) -> None:
    """What stays is whole; the memory of that time follows, later memory is set aside."""
    await talk(session)
    whole = await session.load("s")
    assert await session.rewind("s", keep_entries=keep) == len(whole) - kept
    assert await session.load("s") == whole[:kept]
    _, left = await session.recall("s")
    assert (None if left is None else left.state["n"]) == remembered
    for segment in await session.segments("s"):
        complete = len(segment.entries) == len(TURNS[int(segment.run_id[1:])])
        assert (segment.meta is not None) is complete


async def test_a_rewound_conversation_goes_on(session: SharedSession) -> None:
    """New runs come after what was kept, and who read it before does not set its memory."""
    await talk(session)
    seen, _ = await session.recall("s")
    await session.rewind("s", keep_entries=3)
    await session.append("s", [B], run_id="new", memory=memory(4), seen=seen)
    assert await session.load("s") == [*TURNS[0], U("two"), B]
    assert (await session.recall("s"))[1] == memory(2, n=0)
    assert [segment.run_id for segment in await session.segments("s")] == ["r0", "r1", "new"]


@pytest.mark.parametrize(("keep", "kept"), [(None, 10), (8, 8), (5, 3), (0, 0)])
async def test_a_fork_goes_its_own_way(session: SharedSession, keep: int | None, kept: int) -> None:
    """The copy has segments and memory of its own; neither changes the other."""
    await talk(session)
    whole = await session.load("s")
    assert await session.fork("s", "copy", keep_entries=keep) == kept
    assert await session.load("copy") == whole[:kept]
    await session.append("copy", [B], run_id="only there")
    await session.rewind("s", keep_entries=2)
    assert await session.load("copy") == [*whole[:kept], B]
    assert await session.load("s") == TURNS[0]
    _, left = await session.recall("copy")
    expected = {10: 2, 8: 1, 3: 0, 0: None}[kept]
    assert (None if left is None else left.state["n"]) == expected


async def test_a_fork_overwrites_nothing(session: SharedSession) -> None:
    """Forking under an id that is in use, or to a negative length, is refused."""
    await talk(session)
    await session.append("taken", [A])
    with pytest.raises(UserError, match="already"):
        await session.fork("s", "taken")
    with pytest.raises(UserError, match="-1"):
        await session.rewind("s", keep_entries=-1)
    assert await session.fork("nobody", "copy") == 0


async def test_few_memories_are_kept(session: SharedSession) -> None:
    """A conversation that is compacted for years keeps the newest memories only."""
    await session.append("s", [A, B])
    for number in range(40):
        seen, _ = await session.recall("s")
        assert await session.remember("s", memory(1 + number % 2, n=number), seen=seen)
    await session.rewind("s", keep_entries=1)
    _, left = await session.recall("s")
    assert left == memory(1, n=38)
