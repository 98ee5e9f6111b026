"""Checking views at the cost of what is new."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.errors import InvalidViewError
from lovia.replay import checking
from lovia.replay.checking import ViewChecker
from lovia.transcript.validation import validate_view
from tests.notation import A, C, S, T, U

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.transcript.entries import TranscriptEntry

ENTRIES = st.lists(
    st.sampled_from([U(), A(), C("a"), C("b"), T("a"), T("b"), S()]), min_size=1, max_size=14
)


def verdict(check: Callable[[], None]) -> str | None:
    """Return the rule that a check finds broken, or None."""
    try:
        check()
    except InvalidViewError as error:
        return error.rule
    return None


@given(ENTRIES, st.lists(st.integers(1, 4), min_size=1, max_size=6), st.booleans())
def test_growing_views_are_judged_as_whole_ones(
    entries: list[TranscriptEntry], steps: list[int], identical: bool
) -> None:
    """Step by step the verdict is that of validate_view, for original and for cut views."""
    checker = ViewChecker()
    transcript: list[TranscriptEntry] = []
    for step in steps:
        transcript.extend(entries[len(transcript) : len(transcript) + step])
        view = transcript if identical else [*transcript[:1], *transcript[2:]]
        alone = verdict(partial(validate_view, view, transcript=transcript))
        assert verdict(partial(checker.check, view, transcript)) == alone
        if alone is not None:
            break


def test_a_view_that_only_grew_is_not_checked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between passes the whole check runs no more; a changed view and a wrong end bring it back."""
    whole: list[int] = []

    def counted(view: list[TranscriptEntry], *, transcript: list[TranscriptEntry]) -> None:
        whole.append(len(view))
        validate_view(view, transcript=transcript)

    monkeypatch.setattr(checking, "validate_view", counted)
    checker = ViewChecker()
    transcript: list[TranscriptEntry] = [S(), U("one"), A(), U("two")]
    checker.check(list(transcript), transcript)
    for _ in range(5):
        transcript += [C("a"), T("a")]
        checker.check(list(transcript), transcript)
    assert whole == [4]
    checker.check([transcript[0], *transcript[3:]], transcript)
    assert whole == [4, 12]
    transcript += [T("nobody")]
    with pytest.raises(InvalidViewError) as caught:
        checker.check([transcript[0], *transcript[3:]], transcript)
    assert caught.value.rule == "orphan_result"
    assert whole == [4, 12, 13]
