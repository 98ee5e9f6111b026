"""Cuts: at good places, and never inside what a reader takes for one character."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer.splitting import clip_middle, safe_cut, split_to_fit

WHOLE = [
    pytest.param("👩‍👩‍👧‍👦", id="joined emoji"),
    pytest.param("👍🏽", id="skin tone"),
    pytest.param("🇨🇳", id="flag"),
    pytest.param("e\u0301\u0323", id="combining marks"),
    pytest.param("\r\n", id="line end"),
    pytest.param("\ud83d\ude00", id="surrogate pair"),
    pytest.param("\u1112\u1161\u11ab", id="Hangul jamo"),
    pytest.param("❤️", id="variation selector"),
    pytest.param("🏴\U000e0067\U000e0062\U000e007f", id="tag sequence"),
]
ANY_TEXT = st.text(st.characters(codec=None), max_size=300) | st.text(
    st.sampled_from("a \n.👩‍👦🇨🇳é\u0301\ud83d\ude00中"), max_size=300
)


@pytest.mark.parametrize("character", WHOLE)
def test_a_cut_never_falls_inside_a_character(character: str) -> None:
    """A position inside a character moves to its beginning."""
    text = f"ab{character}cd"
    for inside in range(3, 2 + len(character)):
        assert safe_cut(text, inside) == 2
    assert safe_cut(text, 2 + len(character)) == 2 + len(character)


def test_flags_in_a_row_are_cut_between_flags() -> None:
    """Two regional indicators make one flag, counted from the first."""
    text = "🇨🇳🇩🇪🇫🇷"
    assert [safe_cut(text, index) for index in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_an_endless_character_is_cut_all_the_same() -> None:
    """A run of combining marks cannot make a cut impossible or slow."""
    assert safe_cut("a" + "\u0301" * 10_000, 5_000) == 5_000


@given(text=ANY_TEXT, limit=st.integers(1, 40))
def test_splitting_loses_nothing_and_always_gets_on(text: str, limit: int) -> None:
    """The parts together are the text, none is empty, and only a character may be too big."""
    rest, parts = text, []
    while rest:
        head, rest = split_to_fit(rest, limit, len)
        parts.append(head)
    assert "".join(parts) == text
    assert all(parts)
    assert all(len(part) <= max(limit, 2) for part in parts)
    assert not any(
        "\ud800" <= a[-1] <= "\udbff" and "\udc00" <= b[0] <= "\udfff" for a, b in pairwise(parts)
    )


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("one two.\n\nthree four\nfive six", "one two.\n\n"),
        ("one two three\nfour five six", "one two three\n"),
        ("One two three. Four five six", "One two three."),
        ("onetwothree four fivesixseven", "onetwothree "),
        ("一二三四五六七八九十，一二三四五六七八", "一二三四五六七八九十，"),
    ],
)
def test_a_split_prefers_paragraphs_then_lines_then_sentences_then_words(
    text: str, head: str
) -> None:
    """Of the places near the end of what fits, the best kind is taken."""
    assert split_to_fit(text, 16, len)[0] == head


@given(text=ANY_TEXT, limit=st.integers(1, 400))
def test_clipping_keeps_within_its_limit_and_is_idempotent(text: str, limit: int) -> None:
    """A clipped text fits, and clipping it again changes nothing."""
    clipped = clip_middle(text, limit)
    assert len(clipped) <= limit
    assert clip_middle(clipped, limit) == clipped
    assert clipped == text or len(text) > limit


def test_clipping_keeps_both_ends_and_says_how_long_the_text_was() -> None:
    """Beginning and end stay, and the mark between them names the length."""
    clipped = clip_middle("a" * 5_000 + "z" * 5_000, 300)
    assert clipped.startswith("aaa")
    assert clipped.endswith("zzz")
    assert "10,000 characters" in clipped
