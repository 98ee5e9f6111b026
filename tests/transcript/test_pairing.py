"""Calls and results pair by occurrence; cuts lie between units; views are checked."""

from __future__ import annotations

import pytest

from lovia.errors import InvalidViewError
from lovia.transcript import TranscriptEntry, validate_view
from lovia.transcript.pairing import Pairing, legal_cuts, pair
from tests.notation import A, C, R, S, T, U


@pytest.mark.parametrize(
    ("entries", "cuts"),
    [
        pytest.param([], [0], id="empty"),
        pytest.param([U(), A(), U()], [0, 1, 2, 3], id="texts"),
        pytest.param([U(), C("a"), C("b"), T("b"), T("a"), A()], [0, 1, 5, 6], id="batch"),
        pytest.param([U(), R(), C("a"), T("a")], [0, 1, 4], id="thought-and-call"),
        pytest.param([U(), R(), A("so"), C("a"), T("a")], [0, 1, 5], id="thought-text-call"),
        pytest.param([U(), A("so"), C("a"), T("a")], [0, 1, 2, 4], id="text-before-call"),
        pytest.param([U(), R(), A()], [0, 1, 3], id="thought-and-text"),
        pytest.param([C("a"), T("a"), C("b"), T("b")], [0, 2, 4], id="two-steps"),
        pytest.param(
            [R(), C("a"), R(), C("b"), T("a"), T("b"), A()], [0, 6, 7], id="interleaved-thoughts"
        ),
        pytest.param([U(), C("a"), U(), A()], [0, 1, 2, 3, 4], id="dead-call"),
        pytest.param([C("a"), U(), A(), T("a"), U()], [0, 4, 5], id="late-result-fences"),
        pytest.param([T("a"), U()], [0, 1, 2], id="orphan"),
    ],
)
def test_cuts_lie_between_units(entries: list[TranscriptEntry], cuts: list[int]) -> None:
    """A cut never splits a batch, a thought from its call, or a call from its late result."""
    assert legal_cuts(entries) == cuts


def test_a_reused_id_pairs_within_its_own_batch() -> None:
    """A result answers the newest batch with an open call of its id; the dead one stays dead."""
    entries: list[TranscriptEntry] = [C("a"), U(), C("a"), T("a")]
    pairing = pair(entries)
    assert pairing.partner == [-1, -1, 3, 2]
    assert pairing.dead_calls() == {0}
    waiting = pair([*entries, U(), C("a")])
    assert waiting.dead_calls(["a"]) == {0}


def test_equal_ids_in_one_batch_pair_in_order() -> None:
    """Within a batch the first result of an id answers the first call of that id."""
    pairing = pair([C("a"), C("a"), T("a", "one"), T("a", "two")])
    assert pairing.partner == [2, 3, 0, 1]


def test_a_waiting_call_is_not_dead() -> None:
    """A call that waits for an approval is open although other messages follow."""
    entries: list[TranscriptEntry] = [U(), C("a"), U(), A()]
    pairing = pair(entries)
    assert pairing.dead_calls(["a"]) == set()
    assert pairing.open_units(["a"]) == {1}
    assert pairing.open_units() == set()


def test_growth_gives_the_same_structure_as_one_go() -> None:
    """Extending entry by entry ends in the same structure as reading the whole list."""
    entries: list[TranscriptEntry] = [
        U(),
        R(),
        A(),
        C("a"),
        C("b"),
        T("b"),
        T("a"),
        A(),
        C("c"),
        U(),
        T("c"),
        A(),
    ]
    grown = Pairing()
    for entry in entries:
        grown.extend([entry])
    whole = Pairing(entries)
    assert grown.partner == whole.partner
    assert grown.unit_of == whole.unit_of
    assert grown.units == whole.units


@pytest.mark.parametrize(
    ("view", "rule"),
    [
        pytest.param([], "empty", id="nothing"),
        pytest.param([S()], "empty", id="system-only"),
        pytest.param([U(), T("a")], "orphan_result", id="orphan"),
        pytest.param([U(), C("a"), T("a"), T("a"), A()], "orphan_result", id="twice"),
        pytest.param([U(), C("a"), A(), U()], "unanswered_call", id="unanswered"),
    ],
)
def test_an_invalid_view_is_named(view: list[TranscriptEntry], rule: str) -> None:
    """Each broken rule is reported by its name, with a hint."""
    with pytest.raises(InvalidViewError) as caught:
        validate_view(view)
    assert caught.value.rule == rule
    assert caught.value.hint


def test_a_pending_tail_is_valid() -> None:
    """The newest batch may still lack results."""
    validate_view([U(), C("a"), C("b"), T("a")])


@pytest.mark.parametrize(
    ("view", "transcript", "rule"),
    [
        pytest.param([U()], [S(), U()], "leading_block", id="system-lost"),
        pytest.param([U("a")], [U("a"), U("b")], "newest_user", id="newest-lost"),
        pytest.param(
            [U(), C("a"), T("a")], [U(), R("why"), C("a"), T("a")], "reasoning", id="thought-lost"
        ),
    ],
)
def test_a_view_owes_its_transcript(
    view: list[TranscriptEntry], transcript: list[TranscriptEntry], rule: str
) -> None:
    """Leading block, newest user message and thoughts are checked against the transcript."""
    with pytest.raises(InvalidViewError) as caught:
        validate_view(view, transcript=transcript)
    assert caught.value.rule == rule


def test_reordered_entries_are_refused() -> None:
    """A view preserves the transcript's order."""
    first, second, last = U("one"), A("two"), U("three")
    with pytest.raises(InvalidViewError) as caught:
        validate_view([second, first, last], transcript=[first, second, last])
    assert caught.value.rule == "order"
