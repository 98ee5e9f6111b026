"""Entries to JSON and back, without loss.

The JSON is ASCII: it survives any file system, line splitter and database, and text that holds half
of a surrogate pair keeps it. Fields that have their default value are left out; fields that this
version does not know are passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from lovia.errors import TranscriptFormatError, UserError
from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.located import Located, parse_json, parse_lines
from lovia.transcript.text import encodes

__all__ = [
    "decode_entry",
    "entries_from_json",
    "entries_to_json",
    "entry_from_dict",
    "entry_to_dict",
    "read_jsonl",
    "write_jsonl",
]

_ROLES: Final = ("system", "developer", "user")
_ORIGINS: Final = ("conversation", "summary", "placeholder")
_DETAILS: Final = ("auto", "low", "high")
_REASONING_TEXTS: Final = ("content", "id", "provider", "signature")
_NEVER: Final = object()
_DEFAULTS: Final[Mapping[str, object]] = {
    "id": None,
    "provider": None,
    "signature": None,
    "metadata": {},
    "is_error": False,
    "parts": [],
    "origin": "conversation",
}
_SPLIT_PAIR: Final = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")


def entry_to_dict(entry: TranscriptEntry) -> dict[str, Any]:
    """Return the entry as a JSON-safe dictionary with its ``type`` first.

    A text in which both halves of a surrogate pair stand side by side without being one character
    becomes a list of pieces, because JSON has no other way to keep them apart.
    """
    saved: dict[str, Any]
    match entry:
        case InputEntry(content=str() as text):
            saved = {"role": entry.role, "content": _text(text), "origin": entry.origin}
        case InputEntry(content=tuple() as parts):
            content = [_part_to_dict(part) for part in parts]
            saved = {"role": entry.role, "content": content, "origin": entry.origin}
        case AssistantTextEntry():
            saved = {"content": _text(entry.content), "id": _text(entry.id)}
        case ReasoningEntry():
            saved = {name: _text(getattr(entry, name)) for name in _REASONING_TEXTS}
            saved["metadata"] = _metadata(entry.metadata)
        case ToolCallEntry():
            saved = {name: _text(getattr(entry, name)) for name in ("call_id", "name", "arguments")}
        case ToolResultEntry():
            saved = {"call_id": _text(entry.call_id), "output": _text(entry.output)}
            saved |= {"is_error": entry.is_error, "origin": entry.origin}
            saved["parts"] = [_part_to_dict(part) for part in entry.parts]
    kept = {key: value for key, value in saved.items() if value != _DEFAULTS.get(key, _NEVER)}
    return {"type": entry.type, **kept}


def entry_from_dict(data: Mapping[str, Any]) -> TranscriptEntry:
    """Return the entry that :func:`entry_to_dict` wrote.

    Raises:
        TranscriptFormatError: The dictionary is no entry; the error names the field.
    """
    return decode_entry(Located(data, source="entry"))


def entries_to_json(entries: Iterable[TranscriptEntry]) -> str:
    """Return the entries as one JSON array, an entry a line, in ASCII.

    Raises:
        UserError: The ``metadata`` of an entry cannot be written as JSON.
    """
    lines = ",\n".join(_dump(index, entry) for index, entry in enumerate(entries))
    return f"[\n{lines}\n]" if lines else "[]"


def entries_from_json(text: str | bytes) -> list[TranscriptEntry]:
    """Return the entries that :func:`entries_to_json` wrote.

    Raises:
        TranscriptFormatError: The text is no JSON array of entries; the error names the place.
    """
    root = parse_json(_decode(text, label=""), source="entries")
    try:
        return [decode_entry(item) for item in root.items("a list of entries")]
    except RecursionError:
        raise root.error("values nested a few levels deep") from None


def write_jsonl(entries: Iterable[TranscriptEntry]) -> Iterator[str]:
    r"""Yield one line of ASCII JSON for each entry, its ``\n`` included.

    Raises:
        UserError: The ``metadata`` of an entry cannot be written as JSON.
    """
    for index, entry in enumerate(entries):
        yield _dump(index, entry) + "\n"


def read_jsonl(
    lines: Iterable[str | bytes], *, source: str = "entries"
) -> Iterator[TranscriptEntry]:
    """Yield the entries of the lines that :func:`write_jsonl` wrote; blank lines are passed over.

    Args:
        lines: The lines, with or without their ends; an open file will do.
        source: What to call them in an error.

    Raises:
        TranscriptFormatError: A line is damaged; the error names it, counted from 1.
    """
    texts = (_decode(line, label=f"line {n}", source=source) for n, line in enumerate(lines, 1))
    for node in parse_lines(texts, source=source):
        try:
            yield decode_entry(node)
        except RecursionError:
            raise node.error("values nested a few levels deep") from None


def decode_entry(node: Located) -> TranscriptEntry:
    """Return the entry at a place in a JSON document."""
    node.object("an entry (an object with a type)")
    kind = node.at("type")
    decoder = _DECODERS.get(kind.choice(_DECODERS))
    return cast("Callable[[Located], TranscriptEntry]", decoder)(node)


def _dump(index: int, entry: TranscriptEntry) -> str:
    try:
        return json.dumps(entry_to_dict(entry))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"Entry {index} cannot be written as JSON: {error}"
        raise UserError(message, hint="Put only JSON values into its metadata.") from error


def _decode(text: str | bytes, *, label: str, source: str = "entries") -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        position = ", ".join(part for part in (label, f"byte {error.start}") if part)
        raise TranscriptFormatError(
            f"{source}: {position}: not UTF-8 text.",
            source=source,
            position=position,
            expected="UTF-8 text",
            hint="This is binary data, or text in another encoding.",
        ) from None


def _text(text: str | None) -> str | list[str] | None:
    """Return the text, or its pieces when JSON would join two of its characters into one."""
    if text is None or encodes(text):
        return text
    pieces = _SPLIT_PAIR.split(text)
    return pieces if len(pieces) > 1 else text


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any] | list[str]:
    """Return metadata as it is, or as pieces of its JSON text for the same reason as a text."""
    if not metadata:
        return {}
    pieces = _text(json.dumps(dict(metadata), ensure_ascii=False))
    return pieces if isinstance(pieces, list) else dict(metadata)


def _part_to_dict(part: ContentPart) -> dict[str, Any]:
    names = [name for name in part.__dataclass_fields__ if name != "type"]
    saved = {name: _text(getattr(part, name)) for name in names}
    return {"type": part.type} | {name: value for name, value in saved.items() if value is not None}


def _joined(node: Located) -> str:
    """Read a text that may have been written in pieces."""
    if isinstance(node.value, (list, tuple)):
        return "".join(piece.text() for piece in node.items())
    return node.text()


def _optional(node: Located) -> str | None:
    return None if node.value is None else _joined(node)


def _input(node: Located) -> InputEntry:
    content = node.at("content")
    value: str | Sequence[ContentPart]
    if isinstance(content.value, str) or _is_pieces(content.value):
        value = _joined(content)
    else:
        value = [_part(item) for item in content.items("text or a list of parts")]
    role = cast("Any", node.at("role").choice(_ROLES))
    return InputEntry(role, value, _origin(node))


def _is_pieces(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], str)


def _assistant_text(node: Located) -> AssistantTextEntry:
    return AssistantTextEntry(_joined(node.at("content")), _optional(node.at("id")))


def _reasoning(node: Located) -> ReasoningEntry:
    metadata = node.at("metadata")
    value = metadata.value
    if isinstance(value, (list, tuple)):
        text = _joined(metadata)
        value = parse_json(text, source=node.source, label=metadata.position or "").value
    if value is not None and not isinstance(value, Mapping):
        raise metadata.error("an object")
    return ReasoningEntry(
        content=_joined(node.at("content")),
        id=_optional(node.at("id")),
        provider=_optional(node.at("provider")),
        signature=_optional(node.at("signature")),
        metadata=value or {},
    )


def _tool_call(node: Located) -> ToolCallEntry:
    return ToolCallEntry(
        call_id=_joined(node.at("call_id")),
        name=_joined(node.at("name")),
        arguments=_joined(node.at("arguments")),
    )


def _tool_result(node: Located) -> ToolResultEntry:
    parts = node.at("parts")
    return ToolResultEntry(
        call_id=_joined(node.at("call_id")),
        output=_joined(node.at("output")),
        is_error=node.at("is_error").flag(),
        parts=[_part(part) for part in parts.items()] if parts.value is not None else (),
        origin=_origin(node),
    )


def _origin(node: Located) -> Any:
    return node.at("origin").choice(_ORIGINS, "conversation")


def _part(node: Located) -> ContentPart:
    node.object("a part (an object with a type)")
    kind = node.at("type").choice(("text", "image", "file"))
    if kind == "text":
        return TextPart(_joined(node.at("text")))
    url, data, mime_type = (_optional(node.at(name)) for name in ("url", "data", "mime_type"))
    if kind == "file":
        return FilePart(url, data, mime_type, _optional(node.at("filename")))
    detail = node.at("detail")
    chosen = None if detail.value is None else detail.choice(_DETAILS)
    return ImagePart(url, data, mime_type, cast("Any", chosen))


_DECODERS: Final[dict[str, Callable[[Located], TranscriptEntry]]] = {
    "input": _input,
    "assistant_text": _assistant_text,
    "reasoning": _reasoning,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
}
