"""The charts of the report."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.replay.chart import draw_charts
from tests.replay.test_result import DONE, TURN, turns

COORDINATES = re.compile(r"(-?[\d.]+),(-?[\d.]+)")


@given(st.lists(turns(), min_size=1, max_size=30))
def test_everything_is_drawn_inside_the_frame(listed: list[object]) -> None:
    """Whatever the sizes, all coordinates lie inside the drawing."""
    for chart in draw_charts(listed):  # type: ignore[arg-type] # drawn by turns()
        paths = [chart.request, chart.request_area, chart.saved_area or "", chart.history or ""]
        for x, y in COORDINATES.findall("".join(paths)):
            assert chart.left <= float(x) <= chart.right
            assert 0 <= float(y) <= chart.base
        heights = [label.y for label in chart.labels]
        assert all(a - b > 15.99 for a, b in pairwise(heights))
        assert [row.at for row in chart.rows] == sorted((r.at for r in chart.rows), reverse=True)


def test_a_flat_request_gets_a_chart_of_its_own() -> None:
    """When the history dwarfs the request, a second chart shows the request in its window."""
    small = [replace(TURN, index=k, history=900, passes=()) for k in (1, 2)]
    large = [replace(turn, history=90_000) for turn in small]
    assert [chart.history is None for chart in draw_charts(small)] == [False]
    assert [chart.history is None for chart in draw_charts(large)] == [False, True]


def test_passes_and_overflows_are_marked() -> None:
    """A pass that changed the view has a marker with its story, an overflow has one too."""
    told = [
        TURN,
        replace(TURN, index=2, passes=(replace(DONE, outcome="noop"),)),
        replace(TURN, index=3, passes=(replace(DONE, reactive=True),), overflow=True),
    ]
    chart = draw_charts(told)[0]
    assert [marker.reactive for marker in chart.markers] == [False, True]
    assert chart.markers[0].text.startswith("Call 1: request 900 to 400 tokens.")
    assert [tick.text for tick in chart.refused] == ["Call 3: 400 tokens do not fit the window."]
    assert "2 passes" in chart.summary


@pytest.mark.parametrize(
    ("top", "marks"),
    [(3, [0, 1, 2, 3]), (1_000, [0, 500, 1_000]), (145_000, [0, 50_000, 100_000, 150_000])],
)
def test_marks_are_round_numbers(top: int, marks: list[int]) -> None:
    """The axis counts in steps of 1, 2 or 5 times a power of ten."""
    turn = replace(TURN, history=top, request=top, window=top, passes=())
    texts = [row.text for row in draw_charts([turn])[0].rows]
    assert texts == [f"{m // 1000}k" if m >= 10_000 else f"{m:,}" for m in marks]


def test_no_calls_are_no_chart() -> None:
    """There is nothing to draw without a call."""
    assert draw_charts([]) == ()
