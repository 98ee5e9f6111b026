"""Reading a long text by pages and by what is found in it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.document import Document, Piece
from lovia.transcript.text import clean_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
PIECES = st.lists(
    st.builds(Piece, ANY_TEXT, st.sampled_from(["", "entry 1", "entry 2"])), max_size=5
)


def whole(document: Document) -> str:
    """Return the text of all pieces."""
    return "".join(piece.text for piece in document.pieces)


def test_a_lone_piece_is_its_body() -> None:
    """A text without a label is shown as it is."""
    document = Document("it", [Piece("one\ntwo\n")])
    assert document.size == 8
    assert document.page(0, 100).text == "one\ntwo\n"


def test_pieces_stand_under_their_labels() -> None:
    """Labelled pieces have a heading line and end with a line end."""
    document = Document("it", [Piece("a", "entry 0"), Piece("b", "entry 1")])
    assert document.page(0, 100).text == "--- entry 0 ---\na\n--- entry 1 ---\nb\n"


@given(PIECES, st.integers(1, 40))
def test_pages_make_the_whole(pieces: list[Piece], limit: int) -> None:
    """Reading on from the end of each page shows every character once, and pages are small."""
    document = Document("it", pieces)
    text = whole(document)
    assert document.size == len(text)
    offset, shown = 0, []
    while offset < document.size:
        page = document.page(offset, limit)
        assert offset < page.end <= offset + limit
        assert page.text == clean_text(text[offset : page.end])
        page.text.encode()
        shown.append(text[offset : page.end])
        offset = page.end
    assert "".join(shown) == text
    assert document.page(offset, limit).text == ""


def test_a_page_does_not_cut_a_character() -> None:
    """A page ends before a character that would be cut, unless it is all there is room for."""
    document = Document("it", [Piece("ab👨\u200d👩\u200d👧cd")])
    assert document.page(0, 4).text == "ab"
    assert document.page(2, 3).end == 5


@given(PIECES, st.text("aäßİ\n", min_size=1, max_size=3), st.integers(1, 400))
def test_every_place_is_found(pieces: list[Piece], wanted: str, limit: int) -> None:
    """Searching on from each end finds a place exactly when the text is there."""
    document = Document("it", pieces)
    offset, places = 0, 0
    while offset < document.size:
        found = document.search(wanted, offset=offset, limit=limit)
        found.text.encode()
        assert len(found.text) <= limit
        places += bool(found.text)
        assert found.end > offset
        offset = found.end
    assert places >= any(wanted in piece.body for piece in pieces)


def test_places_are_shown_with_offset_and_surroundings() -> None:
    """Each place is a line that says where it is; letter case does not matter."""
    document = Document(
        "it", [Piece("first\nan Error here\nlast", "entry 3"), Piece("error", "entry 4")]
    )
    found = document.search("ERROR", offset=0, limit=1_000)
    assert found.text == "offset 25, entry 3: an Error here\noffset 57, entry 4: error"
    assert whole(document)[25:30] == "Error"
    assert whole(document)[57:62] == "error"
    assert found.end == document.size


def test_a_long_line_is_shown_in_part() -> None:
    """Around a place in a line of a megabyte only its surroundings are shown, each once."""
    text = "x" * 500_000 + "needle needle" + "y" * 500_000
    found = Document("it", [Piece(text)]).search("needle", offset=0, limit=4_000)
    assert found.text.startswith("offset 500000: x")
    assert found.text.count("needle") == 2
    assert len(found.text) < 400


def test_searching_on_starts_where_the_last_page_ended() -> None:
    """When the places do not fit, the end is the next place's offset."""
    document = Document("it", [Piece("needle\n" * 100)])
    first = document.search("needle", offset=0, limit=60)
    second = document.search("needle", offset=first.end, limit=60)
    assert first.text.count("\n") < 5
    assert second.text.startswith(f"offset {first.end}: needle")


@pytest.mark.parametrize("wanted", ["(a+)+$", "a" * 5_000, ".*.*.*=", "[", "\\"])
def test_no_search_takes_long(wanted: str) -> None:
    """What would be a catastrophic pattern is sought as plain text, in milliseconds."""
    document = Document("it", [Piece("a" * 2_000_000)])
    started = time.perf_counter()
    document.search(wanted, offset=0, limit=4_000)
    assert time.perf_counter() - started < 2
