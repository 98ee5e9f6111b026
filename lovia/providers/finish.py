"""Why an answer ended, in one vocabulary for all vendors."""

from __future__ import annotations

from typing import Final

__all__ = ["finish_reason"]

# Each vendor's word -> ours: stop, tool_calls, length, refusal, content_filter.
_WORDS: Final = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "eos": "stop",
    "completed": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "safety": "content_filter",
}


def finish_reason(word: str | None, *, calls: bool = False, refused: bool = False) -> str | None:
    """Return why an answer ended; a word that nobody knows stays as it is.

    Args:
        word: The vendor's word.
        calls: Whether the answer holds calls: some servers then say ``stop`` all the same.
        refused: Whether the answer is a refusal in a field of its own.
    """
    reason = _WORDS.get((word or "").lower(), word)
    if reason == "stop" and refused:
        return "refusal"
    if reason == "stop" and calls:
        return "tool_calls"
    return reason
