"""Which transcript entry each entry of a view shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lovia.errors import InvalidViewError
from lovia.transcript import (
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
    validate_view,
)
from lovia.transcript.fidelity import match_view
from tests.notation import A, C, R, S, T, U

DEAD = ToolResultEntry("a", "no result was recorded", origin="placeholder")
SUMMARY = InputEntry("user", "so far", origin="summary")
OK = A("ok")
ON = U("on")


def marker(call_id: str) -> ToolResultEntry:
    """Return what stands in the place of a result."""
    return ToolResultEntry(call_id, "[cleared]", origin="placeholder")


def test_a_view_that_is_the_transcript_matches_one_to_one() -> None:
    """Also when every object stands in several places."""
    turn: list[TranscriptEntry] = [ON, OK]
    transcript = turn * 5
    assert match_view(transcript, transcript) == list(range(10))


def test_a_placeholder_of_a_dead_call_is_no_earlier_result_of_its_id() -> None:
    """What answers a call that was never answered shows nothing of the transcript."""
    transcript: list[TranscriptEntry] = [U("go"), C("a"), T("a"), U("on"), C("a"), U("still?")]
    view = [*transcript[:5], DEAD, transcript[5]]
    assert match_view(view, transcript) == [0, 1, 2, 3, 4, -1, 5]
    validate_view(view, transcript=transcript)


def test_a_marker_shows_the_result_of_its_call() -> None:
    """Of several results with one id it is the one that answered the call before it."""
    transcript: list[TranscriptEntry] = [U("go"), C("a"), T("a"), C("a"), T("a"), C("a"), T("a")]
    view = [U("go"), SUMMARY, transcript[3], marker("a"), transcript[5], transcript[6]]
    assert match_view(view, transcript) == [0, -1, 3, 4, 5, 6]


@pytest.mark.parametrize("hidden", [(4, 5), (1, 2)])
def test_a_rewritten_call_is_found_by_its_neighbours(hidden: tuple[int, int]) -> None:
    """With two calls that look alike, the one beside what is shown is meant."""
    first: list[TranscriptEntry] = [C("a", arguments='{"n": 1}'), T("a", "one")]
    second: list[TranscriptEntry] = [C("a", arguments='{"n": 2}'), T("a", "two")]
    transcript: list[TranscriptEntry] = [U("go"), *first, OK, *second, U("on")]
    view: list[TranscriptEntry] = [
        replace(entry, arguments="{}") if isinstance(entry, ToolCallEntry) else entry
        for index, entry in enumerate(transcript)
        if index not in range(hidden[0], hidden[1] + 1)
    ]
    shown = [index for index in range(7) if index not in range(hidden[0], hidden[1] + 1)]
    assert match_view(view, transcript) == shown


def test_equal_texts_are_matched_at_the_end_they_belong_to() -> None:
    """An old message that equals the newest one is not taken for it, nor the other way round."""
    transcript: list[TranscriptEntry] = [S(), U("go"), U("again"), A("no"), U("again"), R(), C("a")]
    view = [*transcript[:2], SUMMARY, *transcript[4:]]
    assert match_view(view, transcript) == [0, 1, -1, 4, 5, 6]
    validate_view(view, transcript=transcript)


def test_a_view_that_was_written_and_read_matches_by_value() -> None:
    """A view of equal entries in other objects is the same view."""
    transcript: list[TranscriptEntry] = [S(), U("go"), C("a"), T("a"), OK, U("on"), OK, U("on")]
    view = [*transcript[:2], SUMMARY, *transcript[5:]]
    again = entries_from_json(entries_to_json(view))
    assert match_view(again, transcript) == [0, 1, -1, 5, 6, 7]
    validate_view(again, transcript=transcript)


def test_a_text_that_was_said_before_may_be_the_newest_message() -> None:
    """A view does not say which of several equal messages it shows, so the newest may be it."""
    transcript: list[TranscriptEntry] = [U("go"), OK, ON, OK, ON, U("wait"), OK, ON, C("a"), T("a")]
    validate_view([U("go"), OK, ON, *transcript[8:]], transcript=transcript)


@pytest.mark.parametrize("after", [[U("wait")], [OK, U("wait")]])
def test_an_earlier_message_is_not_the_newest_one(after: list[TranscriptEntry]) -> None:
    """What stands before something that was said before the newest message is not that message."""
    transcript: list[TranscriptEntry] = [U("go"), ON, OK, U("wait"), OK, ON, C("a"), T("a")]
    view = [U("go"), ON, *after, *transcript[6:]]
    with pytest.raises(InvalidViewError, match="newest user message"):
        validate_view(view, transcript=transcript)
