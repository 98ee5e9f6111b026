"""Tests of what is known of Anthropic's models by their name."""

from __future__ import annotations

import pytest

from lovia.providers.anthropic.traits import binds_thoughts, longest_answer, takes_instructions


@pytest.mark.parametrize(
    ("model", "binds", "instructed"),
    [
        ("claude-fable-5-2", True, True),
        ("claude-opus-5-5", True, True),
        ("claude-haiku-5-5", True, True),
        ("claude-opus-5", False, True),
        ("claude-sonnet-5", False, False),
        ("claude-sonnet-5-20260630", False, False),
        ("claude-opus-4-8", False, True),
        ("us.anthropic.claude-opus-4-8-v1", False, True),
        ("claude-opus-4-7", False, False),
        ("claude-sonnet-4-5-20250929", False, False),
        ("claude-opus-4-20250514", False, False),
        ("claude-3-7-sonnet-20250219", False, False),
        ("claude-sonnet-6", True, True),
        ("some-model", True, True),
    ],
)
def test_traits_follow_the_name(model: str, binds: bool, instructed: bool) -> None:
    """Family and version decide; a name that nobody knows is a newer model."""
    assert binds_thoughts(model) == binds
    assert takes_instructions(model) == instructed


def test_old_models_answer_at_less_length() -> None:
    """The protocol demands an upper bound, and old models refuse one that is too large."""
    assert longest_answer("claude-3-5-haiku-latest") == 8_192
    assert longest_answer("claude-opus-5-5") == 32_000
