"""Parallel calls and their results are never split: not by a cut, a resume, or a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.pipeline.saved import SavedMemory, save
from lovia.context.view.decisions import (
    Cleared,
    Clipped,
    Decisions,
    Literal,
    Note,
    Replacement,
    SummaryText,
)
from lovia.context.view.ranges import Ranges
from lovia.transcript import ToolResultEntry
from lovia.transcript.digest import PrefixChain
from tests.cases.support import Conversation, policy_of
from tests.context.summarizer.fakes import FakeModel
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

STEP: list[TranscriptEntry] = [R("which?", signature="sealed"), C("A"), C("B"), T("A"), T("B")]


def saved(transcript: list[TranscriptEntry], decisions: Decisions) -> Conversation:
    """Return a conversation that another process left with these decisions."""
    talk = Conversation(policy_of(model := FakeModel()), *transcript)
    chain = PrefixChain(transcript[: decisions.upto]).value(decisions.upto).hex()
    talk.state["compacting"] = save(SavedMemory("other", decisions=decisions, chain=chain))
    talk.told["provider"] = model
    return talk


@pytest.mark.parametrize("stop", range(2, 8))
@pytest.mark.parametrize("start", range(1, 7))
@pytest.mark.parametrize("how", ["covers", "snips", "dropped"])
async def test_a_stored_range_that_ends_inside_a_batch_is_drawn_back(
    how: str, start: int, stop: int
) -> None:
    """Wherever a saved range begins or ends, the view after a resume is valid, now and later."""
    transcript: list[TranscriptEntry] = [U("go"), *STEP, A("both read"), U("and now?")]
    ranges = Ranges.of([(start, max(start, stop))])
    if not ranges:
        return
    text = SummaryText("It was read.") if how == "covers" else None
    hides: dict[str, Any] = {how: ranges, "summary": text}
    talk = saved(transcript, Decisions(**hides))
    shown = (await talk.view()).entries
    batch = [entry for entry in shown if entry in STEP]
    assert batch in ([], STEP)
    assert (await talk.view(A(), U("more"))).entries[: len(shown)] == shown
    assert "compacting.set_aside" not in talk.state


@pytest.mark.parametrize(
    "decisions",
    [
        pytest.param({"notes": (Note(0, U("first of all")),)}, id="note_before_the_leading_block"),
        pytest.param({"notes": (Note(2, R("hm")),)}, id="added_thought"),
        pytest.param({"replaced": {4: Literal(U("no result"))}}, id="result_replaced_by_a_message"),
        pytest.param({"replaced": {4: Literal(T("B"))}}, id="result_replaced_by_another"),
        pytest.param({"replaced": {3: Literal(C("Z"))}}, id="call_replaced_by_another"),
        pytest.param({"replaced": {2: Cleared()}}, id="thought_cleared"),
        pytest.param({"replaced": {1: Clipped(3)}}, id="message_clipped"),
        pytest.param({"replaced": {0: Clipped(3)}}, id="leading_block_clipped"),
        pytest.param({"dropped": Ranges.of([(0, 1)])}, id="leading_block_dropped"),
        pytest.param({"dropped": Ranges.of([(8, 9)])}, id="newest_message_dropped"),
    ],
)
async def test_a_stored_decision_that_no_view_can_keep_is_given_up(
    decisions: dict[str, Any],
) -> None:
    """A saved state whose view no provider would take costs decisions, never the conversation."""
    transcript: list[TranscriptEntry] = [S(), U("go"), *STEP, A("both read"), U("and now?")]
    talk = saved(transcript, Decisions(**decisions))
    await talk.view()
    assert (await talk.view(A(), U("more"))).entries == talk.transcript


async def test_a_stored_note_inside_a_batch_stands_before_it() -> None:
    """A note that was added before its step went on is moved out of it."""
    transcript: list[TranscriptEntry] = [S(), U("go"), *STEP, A("both read"), U("and now?")]
    talk = saved(transcript, Decisions(notes=(Note(4, U("by the way")),)))
    view = (await talk.view()).entries
    assert view == [*transcript[:2], U("by the way"), *transcript[2:]]


@pytest.mark.parametrize("how", [Cleared(), Clipped(3), Literal(T("A", "short"))])
async def test_a_stored_marker_of_a_result_is_kept(how: Replacement) -> None:
    """What a saved state may say of a result is shown after a resume."""
    transcript: list[TranscriptEntry] = [S(), U("go"), *STEP, A("both read"), U("and now?")]
    talk = saved(transcript, Decisions(replaced={5: how}))
    view = (await talk.view()).entries
    assert view[5] != transcript[5]
    assert view[:5] + view[6:] == transcript[:5] + transcript[6:]


@pytest.mark.parametrize("how", ["threshold", "entries", "refused", "manual", "batch"])
@pytest.mark.parametrize("late", [False, True], ids=["at_once", "after_a_message"])
async def test_a_compaction_inside_a_batch_leaves_one_result_a_call(how: str, late: bool) -> None:
    """When a pass ran between two results of a batch, each call has exactly one in the end."""
    policy = policy_of(
        context_window_tokens=1_000 if how == "threshold" else None,
        max_entries=4 if how == "entries" else None,
        keep_initial_entries=0,
        keep_recent_entries=1,
        reactive_keep_recent_entries=1,
        large_tool_result_chars=100,
    )
    past: list[TranscriptEntry] = [U("old", tokens=400), A("so", tokens=200), U("go", tokens=200)]
    size = 50 if how == "batch" else 10
    talk = Conversation(policy, *past, R("which?"), C("A"), C("B"), T("A", tokens=size))
    if how == "refused":
        await talk.refused(500)
    elif how == "manual":
        await talk.compacted()
    else:
        await talk.view()
    if late:
        await talk.view(U("still there?"))
    view = (await talk.view(T("B"), A("done"), U("next"))).entries
    answered = [entry.call_id for entry in view if isinstance(entry, ToolResultEntry)]
    assert answered in (["A", "B"], [])


@pytest.mark.parametrize(
    "transcript",
    [
        [U(), C("r"), C("g"), T("r"), T("g")],
        [U(), C("r"), C("g"), T("g"), T("r"), A()],
        [U(), C("r"), C("r"), T("r"), T("r"), U()],
        [U(), C("r"), A("and"), C("g"), T("r"), T("g"), U()],
        [U(), R(), C("r"), R(), C("g"), T("g"), T("r"), A()],
        [U(), C("r"), C("g"), T("g")],
    ],
    ids=["in_order", "other_order", "one_id", "text_between", "thoughts_between", "half_answered"],
)
async def test_an_orderly_batch_passes_through_untouched(transcript: list[TranscriptEntry]) -> None:
    """Calls whose results do not follow at once are no damage: nothing is repaired or added."""
    result = await Conversation(policy_of(), *transcript).view()
    assert not result.changed
    assert all(a is b for a, b in zip(result.entries, transcript, strict=True))
