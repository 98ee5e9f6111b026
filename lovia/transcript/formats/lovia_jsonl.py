"""Lovia's own format: one entry a line, or a JSON array of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.transcript.codec import decode_entry
from lovia.transcript.entries import (
    AssistantTextEntry,
    ReasoningEntry,
    ToolCallEntry,
    TranscriptEntry,
)

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading

__all__ = ["read", "recognises"]

# What each kind of entry has and no similar row of another format has.
_MARKS: Final = {
    "input": ("role", "content"),
    "assistant_text": ("content",),
    "tool_call": ("call_id", "arguments"),
    "tool_result": ("call_id", "output"),
}
_MADE: Final = (AssistantTextEntry, ReasoningEntry, ToolCallEntry)


def recognises(document: Document) -> bool:
    """Tell whether a row is an entry as the codec writes it."""
    listed = document.member("entries")
    if listed is None:
        rows = [row.value for row in document.rows]
    else:
        rows = listed.value if isinstance(listed.value, list) else []
    return any(_is_entry(row) for row in rows)


def read(document: Document, into: Reading) -> None:
    """Read entries; those that a model makes one after the other count as one message."""
    listed = document.member("entries")
    rows = document.rows if listed is None else listed.items("a list of entries")
    previous: TranscriptEntry | None = None
    for row in rows:
        entry = decode_entry(row)
        into.add([entry], continued=isinstance(previous, _MADE) and isinstance(entry, _MADE))
        previous = entry


def _is_entry(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind == "reasoning":
        return isinstance(value.get("content"), str)
    return isinstance(kind, str) and kind in _MARKS and all(key in value for key in _MARKS[kind])
