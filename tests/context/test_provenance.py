"""Stages by anyone: what they return is kept from pass to pass, or it is refused."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.policy import StageResult
from lovia.context.recall import RecallSource, recall
from lovia.transcript import (
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
)
from lovia.transcript.entries import text_of
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import FakeModel
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from lovia.context import CompactingContextPolicy, PolicyContext

pytestmark = pytest.mark.anyio

Entries = list[TranscriptEntry]
Act = Callable[[Entries], Any]


class Custom:
    """A stage that does what a function does, knowing nothing of memory."""

    name = "custom"

    def __init__(self, act: Act) -> None:
        self._act = act
        self.calls = 0

    async def apply(self, entries: Entries, *, ctx: PolicyContext) -> Any:
        """Return what the function makes of the input."""
        self.calls += 1
        made = self._act(entries)
        if not isinstance(made, (list, tuple)):
            return made
        return StageResult(made, changed=True)  # type: ignore[arg-type] # a tuple, too


def talk_with(*acts: Act, others: bool = False, window: int = 1_080) -> Conversation:
    """Return a conversation over its trigger, with stages by somebody else."""
    policy = policy_of(context_window_tokens=window, max_entries=None, stages=[])
    if others:
        policy = policy_of(context_window_tokens=window, max_entries=None, keep_recent_entries=6)
    stages = [*map(Custom, acts), *policy.stages]
    policy = policy_of(context_window_tokens=window, max_entries=None, stages=stages)
    return Conversation(policy, *history())


def history() -> Entries:
    """Return 900 tokens of conversation."""
    return [
        S("Be brief."),
        U("go", tokens=100),
        *(R("hm", signature="sealed"), C("a"), T("a", "first", tokens=150)),
        A("so", tokens=100),
        *(C("b"), C("a"), T("a", "second", tokens=100), T("b", "third", tokens=100)),
        A("well", tokens=100),
        U("and?", tokens=50),
        *(C("c"), T("c", tokens=100)),
        U("so?"),
    ]


def first_result(change: Callable[[ToolResultEntry], TranscriptEntry]) -> Act:
    """Return an act that changes the first result."""

    def act(entries: Entries) -> Entries:
        at = next(k for k, entry in enumerate(entries) if isinstance(entry, ToolResultEntry))
        found = entries[at]
        assert isinstance(found, ToolResultEntry)
        return [*entries[:at], change(found), *entries[at + 1 :]]

    return act


def without(*positions: int) -> Act:
    """Return an act that drops entries."""
    return lambda entries: [e for k, e in enumerate(entries) if k not in positions]


def prepend_note(entries: Entries) -> Entries:
    """Drop a text, and put a note before everything but the leading block."""
    return [entries[0], U("[note] mind the gap"), *entries[1:5], *entries[6:]]


def shorten_calls(entries: Entries) -> Entries:
    """Empty the arguments of every call."""
    return [replace(e, arguments="{}") if isinstance(e, ToolCallEntry) else e for e in entries]


def scribble(entries: Entries) -> Entries:
    """Edit the input in place, and return it."""
    del entries[5]
    entries.insert(5, A("[cut]"))
    return entries


def at_random(entries: Entries) -> Entries:
    """Replace a text by another one each time."""
    return [*entries[:5], A(f"[{random.random()}]"), *entries[6:]]


ACCEPTED: dict[str, Act] = {
    "rewrites_a_result": first_result(lambda result: replace(result, output="short")),
    "rewrites_arguments": shorten_calls,
    "drops_a_text": without(5),
    "drops_a_whole_step": without(2, 3, 4),
    "drops_a_batch": without(6, 7, 8, 9),
    "replaces_a_text": lambda entries: [*entries[:5], A("[cut]"), *entries[6:]],
    "adds_a_note": lambda entries: [*entries[:5], *entries[6:-1], U("[note]"), entries[-1]],
    "adds_a_note_of_the_model": lambda entries: [*entries[:5], A("[note]"), *entries[6:]],
    "prepends_a_note": prepend_note,
    "edits_its_input": scribble,
    "is_random": at_random,
    "returns_a_tuple": lambda entries: (*entries[:5], *entries[6:]),
}


@pytest.mark.parametrize("act", ACCEPTED.values(), ids=ACCEPTED)
async def test_what_a_stage_returns_is_kept(act: Act) -> None:
    """A stage's view is shown as it was returned, the same bytes next time and after a resume."""
    seen: list[Entries] = []

    def noting(entries: Entries) -> Any:
        made = act(entries)
        seen.append(list(made))
        return made

    talk = talk_with(noting)
    result = await talk.view()
    assert result.stages[0].outcome == "applied"
    assert result.entries == seen[0]
    assert result.entries != talk.transcript
    again = await talk.view(A("yes"), U("on"))
    assert again.entries == [*result.entries, A("yes"), U("on")]
    calm = policy_of(context_window_tokens=10**6, max_entries=None)
    other = await talk.resumed(calm).view()
    assert entries_to_json(other.entries) == entries_to_json(again.entries)


@pytest.mark.parametrize("act", ACCEPTED.values(), ids=ACCEPTED)
async def test_a_stage_that_sees_its_own_output_does_no_harm(act: Act) -> None:
    """Pass after pass the views stay valid and the newest message is the last one."""
    talk = talk_with(act)
    passes = 0
    for number in range(6):
        result = await talk.view(A("more", tokens=150), U(f"on {number}"))
        passes += result.outcome is not None
        assert result.entries[-1] == U(f"on {number}")
    assert passes >= 3


async def test_a_note_that_a_stage_prepends_to_its_own_output_is_there_once() -> None:
    """The same note in the same place is one note, however often the stage adds it."""
    talk = talk_with(prepend_note)
    passes = 0
    for number in range(6):
        result = await talk.view(A("more", tokens=150), U(f"on {number}"))
        passes += result.outcome is not None
        assert result.entries[1] == U("[note] mind the gap")
        assert result.entries.count(U("[note] mind the gap")) == 1
    assert passes >= 3
    assert len(talk.state["compacting"]["notes"]) == 1


INVALID: dict[str, Act] = {
    "drops_a_call": without(3),
    "drops_a_result": without(4),
    "drops_one_of_a_batch": without(6, 9),
    "drops_a_thought": without(2),
    "drops_the_leading_block": without(0),
    "drops_the_newest_message": lambda entries: entries[:-1],
    "drops_everything": lambda entries: [],
    "reverses": lambda entries: entries[::-1],
    "swaps_two_texts": lambda entries: [
        *entries[:5],
        entries[10],
        *entries[6:10],
        entries[5],
        *entries[11:],
    ],
    "swaps_two_results": lambda entries: [*entries[:8], entries[9], entries[8], *entries[10:]],
    "repeats_a_text": lambda entries: [*entries[:6], entries[5], *entries[6:]],
    "invents_a_step": lambda entries: [*entries[:5], C("z"), T("z"), *entries[5:]],
    "adds_inside_a_step": lambda entries: [*entries[:4], U("[note]"), *entries[4:]],
    "adds_before_the_leading_block": lambda entries: [U("[note]"), *entries],
    "rewrites_the_leading_block": lambda entries: [S("Be rude."), *entries[1:]],
    "rewrites_the_newest_message": lambda entries: [*entries[:-1], U("stop")],
    "renames_a_result": first_result(lambda result: replace(result, call_id="zz")),
    "shortens_a_thought": lambda entries: [*entries[:2], R("h", signature="sealed"), *entries[3:]],
    "adds_a_thought": lambda entries: [*entries[:5], R("[note]"), *entries[5:]],
}
BROKEN: dict[str, Act] = {
    "returns_nothing": lambda entries: None,
    "returns_a_number": lambda entries: 7,
    "returns_foreign_objects": lambda entries: [*entries[:-1], {"role": "user"}, entries[-1]],
    "raises": lambda entries: 1 / 0,
}


@pytest.mark.parametrize(
    ("act", "outcome"),
    [(act, "refused") for act in INVALID.values()] + [(act, "failed") for act in BROKEN.values()],
    ids=[*INVALID, *BROKEN],
)
async def test_what_no_view_may_be_is_refused(act: Act, outcome: str) -> None:
    """Such a stage fails, its input goes on to the next one, and the conversation with it."""
    talk = talk_with(act)
    result = await talk.view()
    assert [record.outcome for record in result.stages] == [outcome]
    assert (result.outcome, result.entries) == ("failed", talk.transcript)
    mixed = talk_with(act, others=True)
    result = await mixed.view()
    assert result.stages[0].outcome == outcome
    assert result.outcome == "partial"
    assert "applied" in [record.outcome for record in result.stages[1:]]
    assert result.sizes is not None
    assert result.sizes.request_after < 800


async def test_a_list_that_a_stage_keeps_is_its_own() -> None:
    """What a stage does with its input or its output afterwards changes no view."""
    kept: list[Entries] = []

    def keeping(entries: Entries) -> Entries:
        made = [*entries[:5], A("[cut]"), *entries[6:]]
        kept.extend((entries, made))
        return made

    talk = talk_with(keeping)
    view = (await talk.view()).entries
    expected = list(view)
    for held in kept:
        held.clear()
    view.clear()
    assert (await talk.view(A(), U("on"))).entries == [*expected, A(), U("on")]


@pytest.mark.parametrize(
    "act",
    [
        lambda entries: entries,
        lambda entries: entries[:],
        lambda entries: StageResult(list(entries), changed=True),
        lambda entries: entries_from_json(entries_to_json(entries)),
    ],
    ids=["same_list", "copied_list", "claims_a_change", "copied_entries"],
)
async def test_a_stage_that_changes_nothing_is_no_pass(act: Act) -> None:
    """What counts is what is in the list, not who made it or what the stage says."""
    talk = talk_with(act)
    result = await talk.view()
    assert (result.outcome, result.changed) == ("noop", False)
    assert [record.outcome for record in result.stages] == ["noop"]


async def test_a_change_that_a_stage_does_not_admit_is_seen() -> None:
    """A result with `changed=False` and another list is read by its list."""
    talk = talk_with(lambda entries: StageResult([*entries[:5], *entries[6:]], changed=False))
    result = await talk.view()
    assert result.stages[0].outcome == "applied"
    assert len(result.entries) == len(talk.transcript) - 1


async def test_copies_of_entries_are_recognised() -> None:
    """A stage that rebuilds all entries and drops a few is understood as one that drops those."""

    def rebuild(entries: Entries) -> Entries:
        made = entries_from_json(entries_to_json(entries))
        return [*made[:2], *made[5:]]

    talk = talk_with(rebuild)
    result = await talk.view()
    assert result.stages[0].outcome == "applied"
    expected = [*talk.transcript[:2], *talk.transcript[5:]]
    assert all(a is b for a, b in zip(result.entries, expected, strict=True))


async def test_equal_texts_are_not_confused() -> None:
    """Of equal messages, also of one object in several places, the right ones stay."""
    ok: TranscriptEntry = A("ok")
    on: TranscriptEntry = U("on")

    def drop_the_middle(entries: Entries) -> Entries:
        return [*entries[:3], U("[cut]"), *entries[-3:]]

    policy = policy_of(max_entries=12, stages=[Custom(drop_the_middle)])
    talk = Conversation(policy, U("go"), *[ok, on] * 10)
    result = await talk.view()
    assert result.entries == [talk.transcript[0], ok, on, U("[cut]"), on, ok, on]
    view = (await talk.view(ok, on)).entries
    assert view == [*result.entries, ok, on]
    saved = talk.state["compacting"]
    assert saved["dropped"] == [[3, 18]]


async def test_an_inflating_stage_is_not_used() -> None:
    """A pass that made the request larger changes nothing and says so."""
    talk = talk_with(lambda entries: [*entries[:5], A("[long]", tokens=500), *entries[5:]])
    result = await talk.view()
    assert result.outcome == "inflated"
    assert (result.changed, result.entries) == (False, talk.transcript)
    assert result.sizes is not None
    assert result.sizes.freed == 0


def summarised(model: FakeModel, act: Act, *, armed: list[bool]) -> CompactingContextPolicy:
    """Return a policy whose stage of somebody else's acts after the summary, once it is armed."""
    base = policy_of(model, context_window_tokens=1_500, max_entries=None, keep_recent_entries=6)
    custom = Custom(lambda entries: act(entries) if armed else entries)
    return policy_of(context_window_tokens=1_500, max_entries=None, stages=[*base.stages, custom])


def drop_summary(entries: Entries) -> Entries:
    """Remove what a summary stands for."""
    return [e for e in entries if not isinstance(e, InputEntry) or e.origin != "summary"]


def chat(first: int, count: int = 6) -> Entries:
    """Return a part of a conversation."""
    kinds: list[Any] = [U, A]
    return [kinds[n % 2](f"m{n}", tokens=150) for n in range(first, first + count)]


@pytest.mark.parametrize(
    "act",
    [
        drop_summary,
        lambda entries: [
            replace(e, content="Nothing happened.", origin="conversation")
            if isinstance(e, InputEntry) and e.origin == "summary"
            else e
            for e in entries
        ],
    ],
    ids=["removed", "rewritten"],
)
async def test_a_summary_that_a_stage_removes_covers_nothing_any_more(act: Act) -> None:
    """A placeholder stands for what it covered, and a later summary reads those entries again."""
    armed: list[bool] = []
    model = FakeModel()
    talk = Conversation(summarised(model, act, armed=armed), *chat(0, 12), U("so?"))
    assert summaries((await talk.view()).entries)
    assert "m0 m0" in model.requests[0].text
    armed.append(True)
    result = await talk.view(*chat(14))
    assert not summaries(result.entries)
    assert "summary" not in talk.state["compacting"]
    shown = [entry for entry in result.entries if entry in talk.transcript]
    standing_for = [e for e in result.entries if getattr(e, "origin", "") == "placeholder"]
    (marker,) = [text_of(entry) for entry in standing_for]
    first, last = map(int, re.findall(r"\d+", marker.partition("entries ")[2].partition(":")[2]))
    covered = talk.transcript[first : last + 1]
    assert [entry for entry in talk.transcript if entry in shown or entry in covered] == (
        talk.transcript
    )
    source = RecallSource(talk.transcript)
    assert "m0 m0" in await recall({"first": first, "last": last}, source)
    armed.clear()
    model.requests.clear()
    result = await talk.view(*chat(20))
    assert len(summaries(result.entries)) == 1
    assert "m0 m0" in model.requests[0].text
    assert "<earlier_summary>" not in model.requests[0].text


async def test_a_stage_may_keep_its_place_around_a_summary() -> None:
    """A note that a stage adds beside the summary stays, and so does the summary."""

    def note(entries: Entries) -> Entries:
        if any("[note]" in str(entry) for entry in entries):
            return entries
        return [entries[0], U("[note] see above"), *entries[1:]]

    armed = [True]
    policy = summarised(FakeModel(), note, armed=armed)
    talk = Conversation(policy, *chat(0, 12), U("so?"))
    for number in range(5):
        view = (await talk.view(*chat(20 + 6 * number))).entries
        assert len(summaries(view)) == 1
        assert len([entry for entry in view if "[note]" in str(entry)]) <= 1
