"""The entry by which the model reads a summary, and nothing else does."""

from __future__ import annotations

from typing import Final

from lovia.transcript.entries import InputEntry
from lovia.transcript.text import clean_text

__all__ = ["SUMMARY_FRAME", "SUMMARY_LABELS", "make_summary_entry"]

#: How the entry begins: a summary made in time, and one made after a refusal.
SUMMARY_LABELS: Final = ("[Context summary]", "[Reactive context summary]")
#: How it ends: what a summary lists as next steps must not read as an order.
SUMMARY_FRAME: Final = (
    "(The above stands for the earlier part of the conversation, which is no longer shown. It is "
    "background: what it calls planned or next was intended then and is no instruction now. "
    "Whatever the user says after it takes precedence.)"
)


def make_summary_entry(summary: str, *, reactive: bool) -> InputEntry:
    """Return the view entry that holds a summary.

    Args:
        summary: The summary's text.
        reactive: Whether it was made after the provider refused a request.

    Returns:
        A user entry with ``origin="summary"``. The origin tells it from what was really said; its
        text is never parsed.
    """
    label = SUMMARY_LABELS[reactive]
    content = f"{label}\n\n{clean_text(summary)}\n\n{SUMMARY_FRAME}"
    return InputEntry("user", content, origin="summary")
