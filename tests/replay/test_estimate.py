"""The estimate against the recorded counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lovia.replay import UsagePoint, compare_usage


def points(pairs: list[tuple[int, int]]) -> list[UsagePoint]:
    """Return points for pairs of estimated and recorded tokens."""
    return [UsagePoint(k, 2 * k + 1, e, r) for k, (e, r) in enumerate(pairs, 1)]


GROWING = st.lists(st.integers(1, 500), min_size=3, max_size=40).map(
    lambda steps: [sum(steps[: k + 1]) for k in range(len(steps))]
)


@given(GROWING, st.integers(0, 10_000))
def test_a_constant_difference_is_found_exactly(sizes: list[int], offset: int) -> None:
    """When recorded and estimated differ by a constant, that is the offset and no error is left."""
    comparison = compare_usage(points([(size, size + offset) for size in sizes]))
    (segment,) = comparison.segments
    assert (segment.offset, segment.error, segment.largest_error) == (offset, 0, 0)


@given(GROWING, st.integers(2, 5))
def test_a_denser_tokenizer_is_found_as_a_slope(sizes: list[int], slope: int) -> None:
    """When the provider counts a multiple, the offset leaves an error that a line does not."""
    comparison = compare_usage(points([(size, slope * size) for size in sizes]))
    (segment,) = comparison.segments
    assert segment.slope is not None
    assert abs(segment.slope - slope) < 1e-6
    assert segment.line_error == 0


def test_a_fall_of_the_recorded_count_begins_a_segment() -> None:
    """A history only grows, so a count that falls by more than a tenth tells of a compaction."""
    told = [(100, 200), (200, 300), (300, 100), (400, 200), (500, 190), (600, 50)]
    comparison = compare_usage(points(told), unmatched=2)
    spans = [(s.first.turn, s.last.turn, s.calls, s.offset) for s in comparison.segments]
    assert spans == [(1, 2, 2, 100), (3, 5, 3, -237), (6, 6, 1, -550)]
    assert comparison.to_dict()["unmatched"] == 2
    assert comparison.to_dict()["segments"][1]["first_message"] == 7


def test_few_calls_have_no_line() -> None:
    """Two points always lie on a line, and equal sizes on every line, so neither tells a slope."""
    two, flat = compare_usage(points([(1, 5), (2, 9)])), compare_usage(points([(4, 5)] * 5))
    assert [two.segments[0].slope, flat.segments[0].slope] == [None, None]


def test_no_counts_are_no_segments() -> None:
    """Without recorded counts there is nothing to compare."""
    assert compare_usage([]).segments == ()
