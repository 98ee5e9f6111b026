"""Session logs of the Codex CLI: OpenAI Responses items between rows of other kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.transcript.formats.openai_responses import add_item

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading

__all__ = ["read", "recognises"]


def recognises(document: Document) -> bool:
    """Tell whether a row wraps an item in ``payload`` and says so in its type."""
    return any(
        isinstance(row.value, dict)
        and row.value.get("type") == "response_item"
        and isinstance(row.value.get("payload"), dict)
        for row in document.rows
    )


def read(document: Document, into: Reading) -> None:
    """Read the items; events, settings and the tool's own compactions are no part of them."""
    for row in document.rows:
        row.object("a row (an object with a type)")
        kind = row.at("type").text("")
        if kind == "response_item":
            add_item(row.at("payload"), into)
        elif kind == "compacted":
            note = "A compaction by the recording tool was left out: the history is whole."
            into.note(row, note)
