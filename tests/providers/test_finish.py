"""Tests of why an answer ended."""

from __future__ import annotations

import pytest

from lovia.providers.finish import finish_reason


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("function_call", "tool_calls"),
        ("max_tokens", "length"),
        ("max_output_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("SAFETY", "content_filter"),
        ("something new", "something new"),
        (None, None),
    ],
)
def test_words_of_all_vendors_are_one_vocabulary(word: str | None, reason: str | None) -> None:
    """Each vendor's word becomes ours; a new one stays as it is."""
    assert finish_reason(word) == reason


def test_what_an_answer_holds_counts_more_than_stop() -> None:
    """Calls and refusals are told, also of servers that say `stop` then; a cut stays one."""
    assert finish_reason("stop", calls=True) == "tool_calls"
    assert finish_reason("stop", refused=True) == "refusal"
    assert finish_reason("length", calls=True) == "length"
