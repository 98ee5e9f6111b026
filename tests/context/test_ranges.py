"""Ranges behave as the sets of integers that they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.view.ranges import Ranges

indices = st.sets(st.integers(0, 60))


@given(indices, indices)
def test_ranges_are_sets(left: set[int], right: set[int]) -> None:
    """Union, difference, membership, length and iteration agree with Python's sets."""
    a, b = Ranges.from_indices(left), Ranges.from_indices(right)
    assert set(a | b) == left | right
    assert set(a - b) == left - right
    assert list(a) == sorted(left)
    assert len(a) == len(left)
    assert all((k in a) == (k in left) for k in range(62))
    assert Ranges.of(a.to_json()) == a


@given(indices, st.integers(0, 60), st.integers(0, 60))
def test_gaps_are_the_rest(covered: set[int], start: int, length: int) -> None:
    """The gaps of a range are exactly what the set leaves of it."""
    stop = start + length
    gaps = Ranges.from_indices(covered).gaps(start, stop)
    assert {k for a, b in gaps for k in range(a, b)} == set(range(start, stop)) - covered


@pytest.mark.parametrize("span", [(-1, 2), (5, 3)])
def test_no_range_runs_backwards(span: tuple[int, int]) -> None:
    """A damaged range is refused."""
    with pytest.raises(ValueError, match="is no range"):
        Ranges.of([span])
