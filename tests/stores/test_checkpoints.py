"""Checkpointers keep runs as a log of entries and a head."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lovia import InputEntry, ToolResultEntry, Usage
from lovia.errors import CheckpointConflict, CheckpointDamaged
from lovia.stores import (
    CallLog,
    Checkpointer,
    LogMark,
    RunHead,
    RunProgress,
    RunSnapshot,
    SessionMark,
    SQLiteCheckpointer,
)
from lovia.transcript.digest import PrefixChain
from tests.notation import A, C, T, U

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import TranscriptEntry

pytestmark = pytest.mark.anyio

USAGE = Usage(input_tokens=10, output_tokens=2)
USAGE.add_summary(Usage(input_tokens=3))


def head(
    sequence: int, entries: list[TranscriptEntry], *, revision: str | None = "r", **fields: Any
) -> RunHead:
    """Return a head whose log ends after these entries."""
    log = LogMark(sequence, len(entries), PrefixChain(entries).value().hex())
    fields.setdefault("context_state", {"p": [1]})
    return RunHead("bot", USAGE.clone(), 1, log=log, context_revision=revision, **fields)


FULL = RunHead(
    agent_name="bot",
    usage=USAGE,
    turns=3,
    status="interrupted",
    output={"a": 1},
    error={"type": "RunCancelled", "message": "stop"},
    last_input_tokens=7,
    context_state={"p": {"x": 1}},
    updated_at=2.0,
    pending_handoff="b",
    started_at=1.0,
    outcome="cancelled",
    context_revision="abc",
    log=LogMark(4, 0, PrefixChain().value().hex()),
    progress=RunProgress(0, (1,), (2,), {"2": False}, 1, 5, 1.5, "stop", "00-1-2-01", 3),
    session=SessionMark("s", 0, 9, "c"),
)


@pytest.mark.parametrize("given", [FULL, RunHead("a", Usage(), 0, updated_at=1.0)])
def test_a_head_survives_json(given: RunHead) -> None:
    """Every field comes back, fields of a newer release are passed over, unset ones left out."""
    data = json.loads(given.to_json())
    assert RunHead.from_json(given.to_json()) == given
    newer = {**data, "new": 1, "progress": {**data["progress"], "new": 1}}
    assert RunHead.from_dict(newer) == given
    assert None not in data.values()
    assert "context_state" not in given.to_dict(with_state=False)


def test_a_snapshot_survives_json() -> None:
    """A snapshot comes back whole, with its entries and the calls that had begun."""
    said: list[TranscriptEntry] = [U("hi"), C("a"), C("b")]
    calls = {1: None, 2: T("b")}
    taken = RunSnapshot.from_parts("r", said, head(1, said), calls=calls)
    again = RunSnapshot.from_json(taken.to_json())
    assert again == taken
    assert again.head == taken.head
    assert (again.run_id, again.entries, again.calls) == ("r", said, calls)


def test_a_snapshot_is_made_as_in_earlier_releases() -> None:
    """Who builds one by keyword needs to know nothing of logs and marks."""
    taken = RunSnapshot(run_id="r", agent_name="a", entries=[U("hi")], usage=Usage(), turns=0)
    assert taken.checked() == taken
    assert (taken.status, taken.output, taken.pending_handoff) == ("running", None, None)


async def test_a_run_grows_save_by_save(checkpointer: Any) -> None:
    """What was appended comes back in order under the newest head; others are apart."""
    said: list[TranscriptEntry] = [U("hi"), A("ho"), InputEntry("user", "\ud800 é")]
    await checkpointer.append("r", said[:1], head(1, said[:1]))
    await checkpointer.append("r", [], head(2, said[:1], pending_handoff="b"))
    await checkpointer.append("other", said, head(1, said))
    newest = head(3, said, status="completed", output="ho")
    await checkpointer.append("r", said[1:], newest)
    saved = await checkpointer.load("r")
    assert saved.entries == said
    assert saved.head == newest
    assert await checkpointer.load("nobody") is None
    await checkpointer.delete("r")
    await checkpointer.delete("nobody")
    assert await checkpointer.load("r") is None
    assert (await checkpointer.load("other")).entries == said


async def test_all_kinds_are_checkpointers(checkpointer: Any) -> None:
    """Each kind keeps runs and has a log of calls."""
    assert isinstance(checkpointer, Checkpointer)
    assert isinstance(checkpointer, CallLog)


async def test_what_is_saved_is_what_was_true_then(checkpointer: Any) -> None:
    """Neither the live state of the run nor what was handed out is what the store keeps."""
    said: list[TranscriptEntry] = [U("hi")]
    first = head(1, said)
    await checkpointer.append("r", said, first)
    first.context_state["p"].append(2)
    first.usage.add(USAGE)
    said.append(A())
    loaded = await checkpointer.load("r")
    loaded.context_state["p"].append(3)
    loaded.entries.append(A())
    again = await checkpointer.load("r")
    assert again.context_state == {"p": [1]}
    assert again.usage == USAGE
    assert again.entries == [U("hi")]


async def test_the_state_is_written_when_its_revision_is_another(checkpointer: Any) -> None:
    """Under the same revision the state is not looked at; without one it is always written."""
    said: list[TranscriptEntry] = [U("hi")]
    await checkpointer.append("r", said, head(1, said, context_state={"n": 1}))
    await checkpointer.append("r", [], head(2, said, context_state={"n": 2}))
    assert (await checkpointer.load("r")).context_state == {"n": 1}
    await checkpointer.append("r", [], head(3, said, context_state={"n": 3}, revision="s"))
    assert (await checkpointer.load("r")).context_state == {"n": 3}
    await checkpointer.append("r", [], head(4, said, context_state={"n": 4}, revision=None))
    assert (await checkpointer.load("r")).context_state == {"n": 4}


@pytest.mark.parametrize("what", ["same save again", "a later save", "other entries", "no run"])
async def test_two_cannot_go_on_with_one_run(checkpointer: Any, what: str) -> None:
    """A save that is not the next one is refused, and nothing of it is kept."""
    said: list[TranscriptEntry] = [U("hi"), A("ho")]
    await checkpointer.append("r", said[:1], head(1, said[:1]))
    stale = {
        "same save again": head(1, said),
        "a later save": head(3, said),
        "other entries": head(2, [*said, A("x")]),
        "no run": head(2, said),
    }[what]
    if what == "no run":
        await checkpointer.delete("r")
    before = await checkpointer.load("r")
    with pytest.raises(CheckpointConflict) as caught:
        await checkpointer.append("r", said[1:], stale)
    assert caught.value.run_id == "r"
    assert await checkpointer.load("r") == before


async def test_a_head_without_a_log_is_taken_as_it_is(checkpointer: Any) -> None:
    """Callers of earlier releases append without numbers."""
    plain = RunHead("bot", Usage(), 0)
    await checkpointer.append("r", [U("a")], plain)
    await checkpointer.append("r", [U("b")], plain)
    assert (await checkpointer.load("r")).entries == [U("a"), U("b")]
    await checkpointer.append("r", [U("c")], head(1, [U("a"), U("b"), U("c")]))
    assert len((await checkpointer.load("r")).entries) == 3


async def test_calls_are_noted_before_and_after(checkpointer: Any) -> None:
    """A call begins once; a result that cannot enter the log yet is kept beside it."""
    said: list[TranscriptEntry] = [U("hi"), C("a"), C("b"), C("c")]
    await checkpointer.append("r", said, head(1, said))
    for position in (1, 2):
        await checkpointer.begin("r", position)
    await checkpointer.finish("r", 2, T("b", "\ud800"))
    await checkpointer.finish("r", 3, T("c", "refused"))
    saved = await checkpointer.load("r")
    assert saved.calls == {1: None, 2: T("b", "\ud800"), 3: T("c", "refused")}
    with pytest.raises(CheckpointConflict):
        await checkpointer.begin("r", 1)
    await checkpointer.withdraw("r", 1)
    await checkpointer.withdraw("nobody", 1)
    assert 1 not in (await checkpointer.load("r")).calls
    await checkpointer.begin("r", 1)
    await checkpointer.delete("r")
    for refused in (checkpointer.begin("r", 5), checkpointer.finish("r", 5, T("x"))):
        with pytest.raises(CheckpointConflict):
            await refused
    await checkpointer.append("r", said, head(1, said))
    assert (await checkpointer.load("r")).calls == {}


# --- torn and damaged ---


def test_what_a_head_does_not_speak_of_did_not_happen() -> None:
    """Entries that were written without their head are left out."""
    said: list[TranscriptEntry] = [U("hi"), A("ho"), U("torn")]
    taken = RunSnapshot.from_parts("r", said, head(1, said[:2]))
    assert taken.entries == said[:2]


@pytest.mark.parametrize(
    "damaged",
    [[U("hi")], [U("hi"), A("hO")], [A("ho"), U("hi")], []],
    ids=["one lost", "one changed", "another order", "all lost"],
)
def test_what_is_not_what_was_saved_is_noticed(damaged: list[TranscriptEntry]) -> None:
    """A log with fewer, other or reordered entries is refused, with a hint."""
    said: list[TranscriptEntry] = [U("hi"), A("ho")]
    with pytest.raises(CheckpointDamaged) as caught:
        RunSnapshot.from_parts("r", damaged, head(1, said))
    assert caught.value.run_id == "r"
    assert "restart" in str(caught.value.hint)


@pytest.mark.parametrize(
    "damage",
    [
        'UPDATE lovia_run_entries SET entry = \'{"type": "input"\' WHERE position = 1',
        'UPDATE lovia_run_entries SET entry = \'{"type": "input"}\' WHERE position = 1',
        "UPDATE lovia_run_entries SET entry = replace(entry, 'ho', 'hu') WHERE position = 1",
        "DELETE FROM lovia_run_entries WHERE position = 0",
        "UPDATE lovia_runs SET head = substr(head, 1, 40)",
        "UPDATE lovia_runs SET state = '{'",
    ],
)
async def test_a_damaged_file_is_noticed(tmp_path: Path, damage: str) -> None:
    """Whatever was cut off or changed in the file, the run is refused and never guessed at."""
    said: list[TranscriptEntry] = [U("hi"), A("ho")]
    async with SQLiteCheckpointer(tmp_path / "c.db") as store:
        await store.append("r", said, head(1, said))
        await store._file.write(lambda db: db.execute(damage))
        with pytest.raises(CheckpointDamaged, match="'r'"):
            await store.load("r")
        await store.delete("r")
        assert await store.load("r") is None


async def test_a_save_writes_only_what_is_new(tmp_path: Path) -> None:
    """The bytes that a save reports are those of the new entries, the head and a new state."""
    said: list[TranscriptEntry] = [ToolResultEntry("c", "x" * 5_000), U("hi")]
    async with SQLiteCheckpointer(tmp_path / "c.db") as store:
        state = {"p": "y" * 9_000}
        first = head(1, said[:1], context_state=state)
        assert await store.append("r", said[:1], first) > 14_000
        same = replace(head(2, said), context_state=state)
        assert await store.append("r", said[1:], same) < 1_000
        assert await store.append("r", [], head(3, said, context_state=state, revision="n")) > 9_000
