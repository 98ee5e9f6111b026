"""Session logs of Claude Code: Anthropic messages, block by block, between rows of other kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.transcript.formats.anthropic import message_entries

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["read", "recognises"]


def recognises(document: Document) -> bool:
    """Tell whether a row of type ``user`` or ``assistant`` wraps a message."""
    return any(_is_message(row.value) for row in document.rows)


def read(document: Document, into: Reading) -> None:
    """Read the main conversation; a model message that was logged block by block is one message."""
    previous: str | None = None
    for row in document.rows:
        if not _is_message(row.value):
            continue
        if row.at("isSidechain").flag():
            into.note(row, "A message of a subagent's own conversation was left out.")
        elif row.at("isCompactSummary").flag():
            into.note(row, "A summary by the recording tool was left out: the history is whole.")
        else:
            message = row.at("message")
            current = _message_id(message)
            continued = current is not None and current == previous
            into.add(message_entries(message, into), continued=continued)
            previous = current


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in ("user", "assistant")
        and isinstance(value.get("message"), dict)
    )


def _message_id(message: Located) -> str | None:
    return message.at("id").identifier() or None
