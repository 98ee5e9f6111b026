"""Text that encodes: lone surrogates arrive from JSON and would make every later request fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    memo,
)

__all__ = ["clean_entry", "clean_text", "clean_value", "encodes"]

_T = TypeVar("_T", bound=TranscriptEntry | ContentPart)
_MEMO = "clean"


def encodes(text: str) -> bool:
    """Tell whether a text encodes as UTF-8 (it does unless it holds a lone surrogate)."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD."""
    if encodes(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_entry(entry: TranscriptEntry) -> TranscriptEntry:
    """Return the entry itself when all its text encodes, else a copy of it that does.

    The answer is remembered on the entry, so asking again costs a dictionary look-up.
    """
    if _is_plain(entry):
        return entry
    cache = memo(entry)
    if _MEMO not in cache:
        cleaned = _clean(entry)
        cache[_MEMO] = None if cleaned is entry else cleaned
    return cache[_MEMO] or entry


def _is_plain(entry: TranscriptEntry) -> bool:
    """Tell at little cost that an entry is ASCII throughout, which most are."""
    kind = type(entry)
    if kind is AssistantTextEntry or kind is InputEntry:
        return isinstance(entry.content, str) and entry.content.isascii()  # type: ignore[union-attr] # checked by its exact type
    match entry:
        case ToolResultEntry():
            return not entry.parts and entry.output.isascii() and entry.call_id.isascii()
        case ToolCallEntry():
            return entry.arguments.isascii() and entry.name.isascii() and entry.call_id.isascii()
        case _:
            return False


def _clean(value: _T) -> _T:
    """Clean the text fields of an entry or a part, one level deep into its parts."""
    changes: dict[str, Any] = {}
    for name in value.__dataclass_fields__:
        if name.startswith("_") or name == "type":
            continue
        old = getattr(value, name)
        new = clean_value(old)
        if new is not old:
            changes[name] = new
    return replace(value, **changes) if changes else value


def clean_value(value: Any) -> Any:
    """Return a value, such as JSON data, in which all text encodes; itself when it does already."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, tuple):
        parts = tuple(clean_value(part) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if hasattr(value, "__dataclass_fields__"):
        return _clean(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        pairs = {clean_value(key): clean_value(item) for key, item in value.items()}
        return value if pairs == dict(value) else pairs
    if isinstance(value, list):
        items = [clean_value(item) for item in value]
        return value if items == value else items
    return value
