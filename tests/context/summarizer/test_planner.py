"""Chunks: what fits, and nothing lost or read twice when something does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer.planner import Cursor, Plan
from lovia.transcript.entries import AssistantTextEntry, InputEntry, TranscriptEntry, text_of
from lovia.transcript.text import clean_text
from tests.context.summarizer.fakes import COUNTER
from tests.context.summarizer.strategies import units

if TYPE_CHECKING:
    from collections.abc import Sequence


def _plan(spans: Sequence[Sequence[TranscriptEntry]]) -> Plan:
    return Plan(spans, measure=COUNTER.entry, clip=lambda entry: entry)


def test_as_many_whole_units_as_fit_are_taken() -> None:
    """Chunks are filled up, and end between units."""
    spans = [[InputEntry("user", "word " * 50)] for _ in range(10)]
    size = COUNTER.entry(spans[0][0])
    plan = _plan(spans)
    chunk = plan.take(Cursor(), size * 3 + size - 1)
    assert len(chunk.entries) == 3
    assert (chunk.tokens, chunk.after, chunk.degraded) == (size * 3, Cursor(3), False)
    assert plan.tokens_after(chunk.after) == size * 7


def test_taking_moves_nothing() -> None:
    """The same cursor gives the same chunk again, or a smaller one with less room."""
    plan = _plan([[InputEntry("user", "word " * 50)] for _ in range(4)])
    assert plan.take(Cursor(), None) == plan.take(Cursor(), None)
    assert len(plan.take(Cursor(), 200).entries) < 4


def test_a_piece_says_that_it_goes_on() -> None:
    """The second piece of an entry is marked, and its first one is not."""
    plan = _plan([[AssistantTextEntry("word " * 500)]])
    first = plan.take(Cursor(), 100)
    second = plan.take(first.after, 100)
    assert not text_of(first.entries[0]).startswith("[continued] ")
    assert text_of(second.entries[0]).startswith("[continued] word")
    assert first.after.units == second.after.units == 0


@given(spans=units(), room=st.integers(24, 400) | st.none())
def test_every_character_is_taken_exactly_once(
    spans: list[list[TranscriptEntry]], room: int | None
) -> None:
    """Whatever the room, the chunks together hold all text in order, and each one fits."""
    plan, cursor, read = _plan(spans), Cursor(), ""
    chunks = 0
    while not plan.is_done(cursor):
        chunk = plan.take(cursor, room)
        assert chunk.tokens == COUNTER.entries(chunk.entries)
        if room is not None:
            assert chunk.tokens <= room or len(chunk.entries) == 1
        for position, entry in enumerate(chunk.entries):
            text = clean_text(text_of(entry))
            going_on = cursor.continued and position == 0
            read += text.replace("[continued] ", "", 1) if going_on else text
        assert chunk.after != cursor
        cursor = chunk.after
        chunks += 1
    whole = "".join(clean_text(text_of(entry)) for unit in spans for entry in unit)
    names = sum(
        len(entry.name) + 1 for unit in spans for entry in unit if entry.type == "tool_call"
    )
    assert len(whole) <= len(read) <= len(whole) + names * chunks
    assert plan.tokens_after(cursor) == 0
