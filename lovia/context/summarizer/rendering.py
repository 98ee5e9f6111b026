"""Entries as a summarizer's model reads them: plain text in tags that no entry can close.

Every tag that delimits recorded text is escaped where it occurs inside recorded text, opening and
closing alike, in any case and with any spaces. All other text stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from lovia.context.summarizer.splitting import clip_middle
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)
from lovia.transcript.text import clean_text

__all__ = ["clip_entry", "render_entry", "tagged", "with_text"]

#: Every tag that delimits recorded text in a summary request.
_TAGS: Final = (
    *("transcript", "earlier_summary", "rules", "focus"),
    *("user", "system", "developer", "assistant", "thought", "call", "result", "summary"),
)
_FORGED_TAG: Final = re.compile(rf"<(?=[\s/]*(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE)
_UNSAFE_IN_ATTRIBUTE: Final = re.compile(r"[^\w.:-]")
#: Characters of a call id or a tool name that are shown; ids of 1.5 kB exist.
_MAX_ATTRIBUTE: Final = 48


def tagged(tag: str, text: str, attributes: str = "") -> str:
    """Return ``text`` between an opening and a closing tag that nothing inside it can imitate."""
    body = _FORGED_TAG.sub("&lt;", clean_text(text))
    return f"<{tag}{attributes}>\n{body}\n</{tag}>\n"


def clip_entry(entry: TranscriptEntry, result_chars: int) -> TranscriptEntry:
    """Return the entry with no more text than a summary request shows of it.

    What tools answered, what they were given and what the model thought is clipped to
    ``result_chars`` characters; what the user and the model said is left whole.
    """
    match entry:
        case ToolResultEntry():
            whole = not entry.parts and len(entry.output) <= result_chars
            return entry if whole else with_text(entry, clip_middle(text_of(entry), result_chars))
        case ToolCallEntry() if len(entry.arguments) > result_chars:
            return with_text(entry, clip_middle(entry.arguments, result_chars))
        case ReasoningEntry() if len(entry.content) > result_chars:
            return with_text(entry, clip_middle(entry.content, result_chars))
        case _:
            return entry


def with_text(entry: TranscriptEntry, text: str) -> TranscriptEntry:
    """Return an entry of the same kind and place that says ``text``, for a summarizer to read."""
    match entry:
        case InputEntry():
            return replace(entry, content=text)
        case ToolCallEntry():
            return replace(entry, arguments=text)
        case ToolResultEntry():
            return replace(entry, output=text, parts=())
        case ReasoningEntry():
            return ReasoningEntry(text, provider=entry.provider)
        case AssistantTextEntry():
            return replace(entry, content=text)


def render_entry(entry: TranscriptEntry) -> str:
    """Return the entry as text between tags; nothing for an entry that holds no readable text."""
    match entry:
        case InputEntry():
            tag = "summary" if entry.origin == "summary" else entry.role
            return tagged(tag, text_of(entry))
        case AssistantTextEntry():
            return tagged("assistant", entry.content) if entry.content else ""
        case ReasoningEntry():
            return tagged("thought", entry.content) if entry.content else ""
        case ToolCallEntry():
            about = f' tool="{_attribute(entry.name)}" id="{_attribute(entry.call_id)}"'
            return tagged("call", entry.arguments, about)
        case ToolResultEntry():
            about = f' id="{_attribute(entry.call_id)}"' + (' error="yes"' * entry.is_error)
            return tagged("result", text_of(entry), about)


def _attribute(text: str) -> str:
    return _UNSAFE_IN_ATTRIBUTE.sub("_", text[:_MAX_ATTRIBUTE])
