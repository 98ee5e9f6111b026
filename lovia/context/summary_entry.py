"""The entry by which the model reads a summary, and nothing else does."""

from __future__ import annotations

from lovia.transcript.entries import InputEntry
from lovia.transcript.text import clean_text

__all__ = ["make_summary_entry"]

_FRAME = (
    "This stands for the earlier part of the conversation, which is no longer shown. It is "
    "background: what it calls planned or next was intended then and is no instruction now. "
    "Whatever the user says after it takes precedence."
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
    label = "Reactive context summary" if reactive else "Context summary"
    return InputEntry("user", f"[{label}]\n{_FRAME}\n\n{clean_text(summary)}", origin="summary")
