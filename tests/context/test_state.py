"""The saved form of what a policy decided: small, checked, and never fatal."""

from __future__ import annotations

import copy
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context import PolicyContext
from lovia.context.pipeline.saved import SCHEMA_VERSION, SavedMemory, StateUnusable, load, save
from lovia.context.pipeline.sizing import ModelFacts
from lovia.context.summarizer.breaker import Breaker
from lovia.context.view.decisions import (
    Cleared,
    Clipped,
    Decisions,
    Literal,
    Note,
    Persisted,
    SummaryText,
)
from lovia.context.view.ranges import Ranges
from lovia.transcript import ToolResultEntry, entries_from_json, entries_to_json
from lovia.transcript.digest import PrefixChain, meter
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, FakeModel
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.context import CompactingContextPolicy
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
KEY = "compacting"
SETTINGS: dict[str, Any] = {
    "context_window_tokens": 2_500,
    "max_entries": 60,
    "large_tool_result_chars": 2_000,
    "tool_result_preview_chars": 100,
}


def turns(start: int, stop: int, tokens: int = 60) -> list[TranscriptEntry]:
    """Return numbered turns with a thought, a call, its result and an answer each."""
    said: list[TranscriptEntry] = []
    for n in range(start, stop):
        said += [U(f"u{n}", tokens=tokens), R(f"hm{n}"), C(f"c{n}"), T(f"c{n}", tokens=tokens)]
        said += [A(f"a{n}", tokens=tokens)]
    return said


#: Every kind of decision about ``TRANSCRIPT``, in which turn `n` is at 2 + 5 * n.
TRANSCRIPT: Final = [S(), U("go"), *turns(0, 24)]
DECISIONS: Final = Decisions(
    covers=Ranges.of([(2, 22)]),
    summary=SummaryText(GOOD),
    snips=Ranges.of([(22, 27)]),
    dropped=Ranges.of([(27, 28)]),
    replaced={
        35: Cleared(),
        40: Cleared(),
        44: Clipped(10),
        45: Persisted("archive/c8.txt", 20),
        50: Literal(ToolResultEntry("c9", "rewritten")),
    },
    notes=(Note(52, U("a note")), Note(57, A("another"))),
)
STATE: Final = save(
    SavedMemory(
        lineage="a",
        version=3,
        decisions=DECISIONS,
        archived=Ranges.of([(2, 27)]),
        chain=PrefixChain(TRANSCRIPT[: DECISIONS.upto]).value().hex(),
        breaker=Breaker(3, 1_700_000_000.0),
        models={"fake/None/tokenizer": ModelFacts(1.2, 2_000)},
        sent=100,
    )
)


async def test_every_kind_of_decision_survives_being_saved() -> None:
    """What is read back from JSON is what was saved, and gives its view."""
    memory = load(json.loads(json.dumps(STATE)))
    assert memory.decisions == DECISIONS
    assert (memory.breaker, memory.sent) == (Breaker(3, 1_700_000_000.0), 100)
    assert memory.models == {"fake/None/tokenizer": ModelFacts(1.2, 2_000)}
    talk = Conversation(policy_of(context_window_tokens=None, max_entries=None), *TRANSCRIPT)
    talk.state[KEY] = json.loads(json.dumps(STATE))
    view = (await talk.view()).entries
    assert len(summaries(view)) == 1
    assert [entry for entry in view if entry in (U("a note"), A("another"))] == [
        *(U("a note"), A("another"))
    ]
    shown = [entry.output for entry in view if isinstance(entry, ToolResultEntry)]
    assert "rewritten" in shown
    assert any("archived at: archive/c8.txt" in output for output in shown)
    assert U("u5", tokens=60) not in view


def test_the_saved_form_holds_no_text_of_the_transcript() -> None:
    """The summary is in it once, third-party texts too, and nothing that was said."""
    text = json.dumps(STATE)
    assert STATE["v"] == SCHEMA_VERSION
    assert text.count(json.dumps(GOOD)) == 1
    assert text.count("rewritten") == 1
    for n in range(24):
        for letter in "uat":
            assert f"{letter}{n} {letter}{n}" not in text


async def test_the_saved_form_grows_with_decisions_and_not_with_text() -> None:
    """Texts a hundred times as long give a state of the same size; so does a longer history."""

    async def size(tokens: int, count: int) -> int:
        policy = policy_of(**{**SETTINGS, "context_window_tokens": None, "max_entries": 30})
        transcript: list[TranscriptEntry] = [S(), U("go")]
        state: dict[str, Any] = {}
        for n in range(count):
            transcript += turns(n, n + 1, tokens)
            await policy.apply(transcript, ctx=PolicyContext(state=state))
        return len(json.dumps(state))

    small = await size(4, 40)
    assert await size(400, 40) <= small + 50
    assert await size(4, 400) <= small + 300


async def test_a_turn_without_a_pass_writes_nothing() -> None:
    """The state that a checkpoint would save changes only when something was decided."""
    talk = Conversation(policy_of(**SETTINGS), S(), *turns(0, 10))
    await talk.view()
    before = json.dumps(talk.state)
    for n in range(3):
        await talk.view(A(f"ok {n}"), U(f"and {n}"))
    assert json.dumps(talk.state) == before


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99, "2", None, 1.5, [1]])
async def test_a_state_of_another_version_is_set_aside(
    version: object, caplog: pytest.LogCaptureFixture
) -> None:
    """What newer code has written is kept for it, not read; the view starts from the transcript."""
    talk = Conversation(policy_of(**SETTINGS), S(), *turns(0, 20))
    await talk.view()
    talk.state[KEY]["v"] = version
    newer = copy.deepcopy(talk.state[KEY])
    resumed = talk.resumed(policy_of(context_window_tokens=None, max_entries=None))
    with caplog.at_level(logging.WARNING, "lovia.context"):
        result = await resumed.view()
    assert result.entries == talk.transcript
    assert resumed.state[f"{KEY}.set_aside"] == newer
    ours = [record for record in caplog.records if record.name == "lovia.context"]
    assert [record.levelname for record in ours] == ["WARNING"]
    assert "set aside" in caplog.text


@pytest.mark.parametrize("data", [None, 7, "text", [], [1], {}, {"v": 1}, True, {"v": {}}])
async def test_what_is_no_state_is_set_aside(data: object) -> None:
    """Anything else under the policy's key does no harm."""
    talk = Conversation(policy_of(**SETTINGS), S(), U("go"))
    talk.state[KEY] = data
    assert (await talk.view()).entries == talk.transcript
    assert (await talk.view(*turns(0, 20))).outcome == "compacted"


async def test_a_state_of_another_conversation_is_set_aside() -> None:
    """A state says by content whose it is; the summary of somebody else is never shown."""
    talk = Conversation(policy_of(**SETTINGS), S(), *turns(0, 20))
    await talk.view()
    other = Conversation(policy_of(context_window_tokens=None, max_entries=None), S())
    other.transcript += turns(100, 120)
    other.state = json.loads(json.dumps(talk.state))
    assert (await other.view()).entries == other.transcript


RED, TAN = ("use red", "yes red"), ("use tan", "yes tan")


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_rewritten_history_is_noticed_by_its_content(restarted: bool) -> None:
    """Texts of the same length in the place of others drop the summary that told of those."""
    asked, answered = RED
    model = FakeModel(then=lambda request: f"{GOOD}\nThe user chose red.")
    settings = {**SETTINGS, "keep_initial_entries": 0, "max_entries": None}
    talk = Conversation(policy_of(model, **settings), U(asked), A(answered), *turns(0, 20))
    first = (await talk.compacted()).entries
    assert "chose red" in str(summaries(first))
    if restarted:
        talk = talk.resumed(policy_of(FakeModel(), **settings))
    model._then = lambda request: GOOD
    talk.transcript[:2] = [U(TAN[0]), A(TAN[1])]
    again = (await talk.view()).entries
    assert "chose red" not in str(again)
    assert "chose red" not in json.dumps(talk.state[KEY])


async def test_the_same_history_in_new_objects_is_the_same_history() -> None:
    """Entries that a session loaded anew, turn by turn, keep the view as it was."""
    model = FakeModel()
    talk = Conversation(policy_of(model, **SETTINGS), S(), *turns(0, 20))
    first = (await talk.view()).entries
    asked = len(model.requests)
    for _ in range(3):
        talk.transcript = [_again(entry) for entry in talk.transcript]
        assert (await talk.view()).entries == first
    assert len(model.requests) == asked


def _again(entry: TranscriptEntry) -> TranscriptEntry:
    (made,) = entries_from_json(json.loads(json.dumps(entries_to_json([entry]))))
    return made


async def test_bytes_hashed_over_200_turns() -> None:
    """Each entry is hashed once in 200 turns, and after a restart each loaded one once more."""
    transcript: list[TranscriptEntry] = [S(), U("go")]
    state: dict[str, Any] = {}

    async def say(policy: CompactingContextPolicy, start: int, stop: int) -> None:
        for n in range(start, stop):
            transcript.extend(turns(n, n + 1))
            await policy.apply(transcript, ctx=PolicyContext(state=state))

    entries, hashed = meter.entries, meter.bytes
    await say(policy_of(**SETTINGS), 0, 200)
    size = len(json.dumps(entries_to_json(transcript)))
    assert 0 < meter.entries - entries <= len(transcript)
    assert 0 < meter.bytes - hashed <= size + 32 * len(transcript)

    transcript[:] = [_again(entry) for entry in transcript]
    state = json.loads(json.dumps(state))
    entries = meter.entries
    await say(policy_of(**SETTINGS), 200, 220)
    assert 0 < meter.entries - entries <= len(transcript)


# --- damage -------------------------------------------------------------------------------

_VALUES: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 3, 10**6, 10**30, 1.5, float("nan"), float("inf"), -float("inf")]),
    st.sampled_from(["", "x", "1", "\ud800", "cleared", "persisted", "literal", "user"]),
    st.sampled_from([[], {}, [[]], [[0, 5]], [[5, 0]], [[-3, 2]], [[0, 10**9]], {"v": 1}]),
    st.integers(-5, 200),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a JSON value."""
    if isinstance(value, dict):
        inner: Any = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    else:
        return
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


@st.composite
def damaged(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """Draw a state with a few things in it changed, missing, doubled or moved."""
    state = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(state)) or [("v",)]))
        holder: Any = state
        for key in path[:-1]:
            holder = holder[key]
        how = draw(st.sampled_from(["change", "change", "remove", "double"]))
        if how == "remove":
            del holder[path[-1]]
        elif how == "double" and isinstance(holder, list):
            holder.insert(path[-1], copy.deepcopy(holder[path[-1]]))
        else:
            holder[path[-1]] = copy.deepcopy(draw(_VALUES))
    return state


@given(state=damaged(STATE))
async def test_a_damaged_state_breaks_nothing(state: dict[str, Any]) -> None:
    """Whatever is wrong with a state, this turn and those after it have valid views."""
    talk = Conversation(policy_of(**SETTINGS), *TRANSCRIPT)
    talk.state[KEY] = state
    await talk.view()
    await talk.view(*turns(50, 52), last_input_tokens=2_000)
    await talk.refused(1_500)
    await talk.compacted()
    json.dumps(talk.state[KEY], allow_nan=False)
    resumed = talk.resumed(policy_of(**SETTINGS))
    assert (await resumed.view()).entries == (await talk.view()).entries


@given(state=damaged(STATE))
def test_a_state_is_read_or_refused(state: dict[str, Any]) -> None:
    """Reading raises one kind of error, and whatever is read can be saved as JSON."""
    with suppress(StateUnusable):
        json.dumps(save(load(state)), allow_nan=False)
