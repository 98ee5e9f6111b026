"""Tests of reading server-sent events."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.providers.sse import EventDecoder

STREAM = (
    ": a comment\r\n"
    "event: one\r\ndata: first\r\n\r\n"
    "data:no space\r\n"
    "data: second line\n\n"
    "id: 7\rdata: ends with CR\r\r"
    "retry: 10\n\n"
    "data: ä 😀\n\n"
    "data\n\n"
    "data: without an end"
).encode()
EVENTS = ["first", "no space\nsecond line", "ends with CR", "ä 😀", "", "without an end"]


def decoded(*chunks: bytes) -> list[str]:
    """Decode a stream that comes in these pieces."""
    decoder = EventDecoder()
    return [*(data for chunk in chunks for data in decoder.feed(chunk)), *decoder.end()]


def test_events_are_read_whole() -> None:
    """All line ends, comments, several data lines and a missing last blank line are understood."""
    assert decoded(STREAM) == EVENTS


def test_no_cut_matters() -> None:
    """Not even one between CR and LF, or inside a character."""
    for cut in range(len(STREAM)):
        assert decoded(STREAM[:cut], STREAM[cut:]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    """Cut anywhere, inside a character or between CR and LF, the events are the same."""
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(edges)]
    assert decoded(*pieces) == EVENTS


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\xfd", b"\n\n\n", b"no field at all", b"\r"])
def test_junk_is_no_event(junk: bytes) -> None:
    """Bytes that hold no data give no event and no error."""
    assert decoded(junk) == []


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    """They leave a mark, so that nobody takes what is left for the whole."""
    assert decoded(b"data: a\xffb\n\n") == ["a\ufffdb"]
