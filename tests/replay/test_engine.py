"""The replay of a recording through a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.policy import ContextPolicyResult
from lovia.errors import InvalidViewError, LoviaError, ProviderError
from lovia.replay import RecordedCount, RecordedSession, model_calls, replay
from lovia.replay.engine import RecordedModel
from lovia.transcript.validation import validate_view
from tests.notation import COUNTER, A, C, R, S, T, U
from tests.replay.policies import BareList, Everything, Tail

if TYPE_CHECKING:
    from lovia.context.policy import PolicyContext
    from lovia.replay import ReplayTurn
    from lovia.transcript.entries import TranscriptEntry

LONG = (S(), U("goal"), *(e for k in range(9) for e in (C(f"c{k}"), T(f"c{k}", tokens=100), A())))
SESSION = RecordedSession("talk", (*LONG, U("thanks"), A("bye")))


@pytest.mark.parametrize(
    ("entries", "calls"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([U(), A()], [1], id="one answer"),
        pytest.param([U(), R(), A(), C("a"), T("a"), A()], [1, 5], id="a turn is one call"),
        pytest.param([U(), C("a"), C("b"), T("a"), T("b"), A()], [1, 5], id="a batch is one call"),
        pytest.param([U(), A(), A(), U(), A()], [1, 4], id="a step in two messages is one call"),
        pytest.param([A(), U(), A()], [2], id="an answer to nothing is none"),
        pytest.param([U(), A(), U()], [1], id="what was never answered was never sent"),
        pytest.param([S(), U()], [2], id="unless nothing else was"),
        pytest.param([U(), C("a")], [1], id="an open call is the model's own last word"),
    ],
)
def test_the_model_was_called_before_each_of_its_turns(
    entries: list[TranscriptEntry], calls: list[int]
) -> None:
    """A call is found before each run of entries that the model wrote."""
    assert model_calls(entries) == calls


@pytest.mark.anyio
async def test_the_policy_sees_the_transcript_grow() -> None:
    """Before each call the policy gets all entries so far, in one state, under one session id."""
    policy, told = Everything(), list[tuple[int, int]]()
    result = await replay(
        SESSION,
        policy,
        counter=COUNTER,
        on_turn=lambda turn, calls: told.append((turn.index, calls)),
    )
    positions = model_calls(SESSION.entries)
    assert policy.seen == [SESSION.entries[:position] for position in positions]
    assert {ctx.session_id for ctx in policy.contexts} == {"talk"}
    assert len({id(ctx.state) for ctx in policy.contexts}) == 1
    assert told == [(k, len(positions)) for k in range(1, len(positions) + 1)]
    assert [turn.entries for turn in result.turns] == positions


@pytest.mark.anyio
async def test_sizes_are_measured_for_a_policy_that_states_none() -> None:
    """Without the policy's own sizes history and request are counted, and saved follows."""
    result = await replay(SESSION, Everything(), window=10_000, counter=COUNTER)
    for turn in result.turns:
        expected = COUNTER.entries(SESSION.entries[: turn.entries])
        assert (turn.history, turn.request, turn.saved) == (expected, expected, 0)
        assert (turn.view, turn.source, turn.passes) == ("original", COUNTER.source, ())


@pytest.mark.anyio
async def test_a_pass_is_taken_down_as_the_policy_tells_it() -> None:
    """Sizes, stages, summary cost and archive of a pass are those of the policy's result."""
    result = await replay(SESSION, Tail(500), window=2_000, counter=COUNTER)
    first = next(turn for turn in result.turns if turn.passes)
    (done,) = first.passes
    assert (done.before, done.after, done.reactive) == (first.history, first.request, False)
    assert done.freed == first.freed == first.history - first.request > 0
    assert (done.summary_cost, done.archived) == (42, ".archive/1.jsonl")
    assert done.stages[0].note == "cut"
    assert result.totals.passes == sum(bool(turn.passes) for turn in result.turns)
    assert result.totals.summary_cost == 42 * result.totals.passes
    assert result.totals.net == result.totals.saved - result.totals.summary_cost


@pytest.mark.anyio
async def test_a_request_larger_than_the_window_is_refused_and_shrunk() -> None:
    """An overflow goes to apply_reactive once, and what comes back is the call's request."""
    policy = Tail(limit=10_000, reactive_limit=300)
    result = await replay(SESSION, policy, window=600, counter=COUNTER)
    refused = [turn for turn in result.turns if any(p.reactive for p in turn.passes)]
    assert refused
    assert policy.refused == len(refused)
    for turn in refused:
        assert turn.passes[-1].before > 600 >= turn.passes[-1].after == turn.request
        assert not turn.overflow
    assert result.totals.overflows == 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    "policy", [Everything(), Tail(10_000), Tail(10_000, 9_000), BareList(10_000)]
)
@pytest.mark.filterwarnings("ignore:BareList:DeprecationWarning")
async def test_what_cannot_be_shrunk_is_an_overflow(policy: Any) -> None:
    """A call whose request stays too large is marked, saves nothing, and the replay goes on."""
    result = await replay(SESSION, policy, window=600, counter=COUNTER)
    marked = [turn.index for turn in result.turns if turn.overflow]
    assert marked == [turn.index for turn in result.turns if turn.request > 600]
    assert marked[-1] == len(result.turns) == len(model_calls(SESSION.entries))
    assert result.totals.overflows == len(marked)
    assert all(turn.saved is None for turn in result.turns if turn.overflow)


@pytest.mark.anyio
async def test_a_bare_list_is_accepted_with_a_warning() -> None:
    """Older policies return a list; their views are measured and called compacted."""

    class Unheard(BareList):
        """A class that nobody was warned of yet."""

    with pytest.warns(DeprecationWarning, match="Unheard"):
        result = await replay(SESSION, Unheard(300), window=600, counter=COUNTER)
    assert result.turns[-1].view == "compacted"
    assert result.turns[-1].request <= 300 < result.turns[-1].history


@pytest.mark.anyio
async def test_an_invalid_view_ends_the_replay() -> None:
    """A view that a provider would refuse raises, naming the entry and the rule."""

    class DropsCalls:
        async def apply(
            self, entries: list[TranscriptEntry], *, ctx: PolicyContext
        ) -> ContextPolicyResult:
            view = list(entries)
            calls = [entry for entry in entries if entry.type == "tool_call"]
            for entry in calls:
                view.remove(entry)
            return ContextPolicyResult(view, changed=True)

    with pytest.raises(InvalidViewError) as caught:
        await replay(SESSION, DropsCalls(), counter=COUNTER)
    assert caught.value.rule == "orphan_result"


@pytest.mark.anyio
async def test_a_policy_that_edits_the_transcript_is_found_out() -> None:
    """The digest of what the policy worked with is compared with the recording's."""

    class Edits:
        async def apply(
            self, entries: list[TranscriptEntry], *, ctx: PolicyContext
        ) -> ContextPolicyResult:
            entries[0] = S("You are careless.")
            return ContextPolicyResult(entries, changed=False)

    with pytest.raises(LoviaError, match="changed the transcript of talk"):
        await replay(SESSION, Edits(), counter=COUNTER)


@pytest.mark.anyio
async def test_every_view_is_valid_and_the_transcript_keeps_its_digest() -> None:
    """Two replays of one recording, whatever the policy, have one digest."""
    one = await replay(SESSION, Tail(400), window=600, counter=COUNTER)
    other = await replay(SESSION, Everything(), counter=COUNTER)
    changed = RecordedSession("talk", (*SESSION.entries[:-1], A("ciao")))
    third = await replay(changed, Everything(), counter=COUNTER)
    assert one.digest == other.digest != third.digest
    validate_view(SESSION.entries)


COUNTS = {
    2: RecordedCount(message=2, tokens=70),
    5: RecordedCount(message=4, tokens=180),
    8: RecordedCount(message=6, tokens=90, compacted=True),
}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("feed", "limit", "given"),
    [
        pytest.param(True, 10_000, [None, 70, None, 180, None, None], id="of unchanged requests"),
        pytest.param(True, 60, [None, 70, None, None, None, None], id="of compacted ones, not"),
        pytest.param(False, 10_000, [None] * 6, id="only on request"),
    ],
)
async def test_recorded_counts_are_fed_where_they_are_true(
    feed: bool, limit: int, given: list[int | None]
) -> None:
    """The policy is told a recorded count only of a call whose request is the recorded one."""
    seen: list[int | None] = []

    class Watched(Tail):
        async def apply(
            self, entries: list[TranscriptEntry], *, ctx: PolicyContext
        ) -> ContextPolicyResult:
            seen.append(ctx.last_input_tokens)
            return await super().apply(entries, ctx=ctx)

    entries = (S(), U(), C("a"), T("a", tokens=40), A(), U(), A(), U(), A(), U(), A(), U(), A())
    positions = model_calls(entries)
    counts = dict(zip(positions[0:5:2], COUNTS.values(), strict=True))
    session = RecordedSession("counted", entries, counts)
    result = await replay(session, Watched(limit), feed_usage=feed, counter=COUNTER)
    assert seen == given[: len(positions)]
    assert [turn.recorded for turn in result.turns][0:5:2] == [70, 180, 90]


@pytest.mark.anyio
async def test_estimate_and_record_are_compared() -> None:
    """Recorded counts are compared with the counted history, whatever the policy does."""
    entries = (S(), U(), A(), U(tokens=50), A(), U(), A())
    positions = model_calls(entries)
    counts = {
        position: RecordedCount(k, COUNTER.entries(entries[:position]) + 1_000)
        for k, position in enumerate(positions)
    }
    session = RecordedSession("counted", entries, {**counts, 99: RecordedCount(9, 1)})
    result = await replay(session, Tail(30), window=5_000, counter=COUNTER)
    assert result.estimate is not None
    (segment,) = result.estimate.segments
    assert (segment.offset, segment.error) == (1_000, 0)
    assert result.estimate.unmatched == 1


def test_a_recording_answers_no_new_request() -> None:
    """A summarizer without a provider of its own learns that the recording is none."""
    with pytest.raises(ProviderError, match="cannot answer") as caught:
        RecordedModel(100).stream([])
    assert caught.value.hint


@pytest.mark.anyio
async def test_time_is_the_policy_s_own() -> None:
    """Each turn says how long its policy took."""
    turns: list[ReplayTurn] = []
    await replay(SESSION, Everything(), counter=COUNTER, on_turn=lambda t, _: turns.append(t))
    assert all(0 < turn.seconds < 10 for turn in turns)
