"""Facts are always values that an exporter can encode."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_otel.facts import MAX_ITEMS, MAX_TEXT, clean, clean_text


class Colour(StrEnum):
    """An enumeration of texts."""

    RED = "red"


class Size(IntEnum):
    """An enumeration of numbers."""

    SMALL = 1


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        ("text", "text"),
        (True, True),
        (False, False),
        (0, 0),
        (1.5, 1.5),
        (["a", "b"], ("a", "b")),
        (("a", 1), ("a", "1")),
        (Colour.RED, "red"),
        (Size.SMALL, 1),
        (PurePosixPath("a/b"), "a/b"),
        (2**80, 2**63 - 1),
        (-(2**80), -(2**63) + 1),
        (b"\xff", "b'\\xff'"),
        ("a\ud800b", "a?b"),
        ("日本語 🎉", "日本語 🎉"),
    ],
)
def test_a_value_becomes_a_fact(value: object, fact: object) -> None:
    """Each kind of value is kept, or becomes the nearest thing that can be encoded."""
    assert clean({"key": value}) == {"key": fact}


@pytest.mark.parametrize("unknown", [None, [], ()])
def test_the_unknown_is_left_out(unknown: object) -> None:
    """`None` and an empty sequence are no facts."""
    assert clean({"key": unknown, "other": 0}) == {"other": 0}


def test_long_values_are_cut() -> None:
    """Texts and sequences are bounded, and a cut text shows it."""
    facts = clean({"text": "x" * 10_000, "many": ["y" * 10_000] * 1000})
    assert len(str(facts["text"])) == MAX_TEXT
    assert str(facts["text"]).endswith("…")
    many = facts["many"]
    assert isinstance(many, tuple)
    assert len(many) == MAX_ITEMS
    assert len(many[0]) == MAX_TEXT


@given(st.text(st.characters(), max_size=50), st.integers(1, 60))
def test_any_text_encodes_within_its_bound(text: str, limit: int) -> None:
    """Whatever code points a text has, lone surrogates included, it encodes and is bounded."""
    cleaned = clean_text(text, limit)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert len(cleaned) <= limit


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    )
)
def test_any_values_become_facts(values: dict[str, Any]) -> None:
    """What comes out is text, number, boolean or a sequence of texts, and nothing else."""
    for fact in clean(values).values():
        assert isinstance(fact, str | bool | int | float | tuple)
        if isinstance(fact, int):
            assert abs(fact) < 2**63
