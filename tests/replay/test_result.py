"""What a replay found out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.policy import StageRecord
from lovia.replay import ReplayPass, ReplayResult, ReplayTotals, ReplayTurn

STAGES = (StageRecord("middle_snip", "applied", 900, 400, "31 entries left out", 0.5),)
DONE = ReplayPass("compacted", "middle_snip", False, 900, 400, STAGES, 100, 20, "archive/1.jsonl")
TURN = ReplayTurn(
    index=1,
    entries=9,
    view_entries=4,
    history=1500,
    request=400,
    window=1000,
    view="compacted",
    source="bytes",
    passes=(DONE,),
    seconds=0.25,
)
TOKENS = st.integers(0, 10**6)


@st.composite
def turns(draw: st.DrawFn) -> ReplayTurn:
    """Draw a turn with any sizes, whose passes ended in any way."""
    request, window = draw(TOKENS), draw(st.integers(1, 10**6))
    outcomes = st.sampled_from(["compacted", "partial", "noop", "inflated", "failed"])
    passes = draw(
        st.lists(
            st.builds(ReplayPass, outcomes, st.none(), st.booleans(), TOKENS, TOKENS), max_size=2
        )
    )
    return replace(
        TURN,
        history=draw(TOKENS),
        request=request,
        window=window,
        passes=tuple(passes),
        overflow=request > window,
    )


@pytest.mark.parametrize(
    ("turn", "saved"),
    [
        pytest.param(TURN, 600, id="the window caps the history"),
        pytest.param(replace(TURN, history=700), 300, id="a short history counts itself"),
        pytest.param(replace(TURN, history=400), 0, id="an unchanged request saves nothing"),
        pytest.param(
            replace(TURN, history=300), -100, id="a grown request saves less than nothing"
        ),
        pytest.param(replace(TURN, window=None), None, id="no window, no figure"),
        pytest.param(replace(TURN, overflow=True), None, id="a refused call saves nothing"),
    ],
)
def test_saved_is_the_smaller_of_history_and_window_minus_request(
    turn: ReplayTurn, saved: int | None
) -> None:
    """What a call saves is min(history, window) minus its request, where there is such a thing."""
    assert turn.saved == saved


def test_a_pass_that_was_not_used_frees_nothing() -> None:
    """Only passes that changed the view count as freed; what they spent counts in any case."""
    inflated = replace(DONE, outcome="inflated", after=950)
    turn = replace(TURN, passes=(DONE, inflated))
    assert turn.freed == 500
    assert turn.summary_cost == 240


@given(st.lists(turns(), max_size=8))
def test_the_sums_agree_with_each_other(listed: list[ReplayTurn]) -> None:
    """Uncompacted minus sent is saved, saved minus cost is net, and each is the sum over calls."""
    totals = ReplayTotals.of(tuple(listed))
    assert totals.saved == sum(turn.saved or 0 for turn in listed)
    assert totals.net == totals.saved - sum(turn.summary_cost for turn in listed)
    assert totals.overflows == sum(turn.request > (turn.window or 0) for turn in listed)
    assert totals.request_mean <= totals.request_peak
    assert totals.sent == sum(turn.request for turn in listed if not turn.overflow)


def test_nothing_at_all_adds_up_to_nothing() -> None:
    """A replay without calls has totals, all of them zero."""
    assert set(ReplayTotals.of(()).to_dict().values()) == {0}


def test_the_json_form_holds_the_numbers_and_no_durations() -> None:
    """Equal replays have equal JSON: durations are in it only on request."""
    result = ReplayResult("demo", "default", 1000, (TURN,), "digest")
    slower = replace(result, turns=(replace(TURN, seconds=9.0),))
    data = result.to_dict()
    assert json.loads(json.dumps(data)) == slower.to_dict() == data
    assert data["totals"]["net"] == 600 - 120
    assert data["turns"][0]["passes"][0]["stages"][0] == {
        "name": "middle_snip",
        "outcome": "applied",
        "before": 900,
        "after": 400,
        "note": "31 entries left out",
    }
    timed = result.to_dict(timing=True)
    assert timed["totals"]["seconds"] == timed["turns"][0]["seconds"] == 0.25
    assert timed["turns"][0]["passes"][0]["stages"][0]["seconds"] == 0.5
