"""The content blocks of all vendors, and the calls, results and thoughts written as blocks.

The vendors' vocabularies overlap without contradicting each other, and recordings mix them, so one
reader serves all formats. A block that no entry can hold is kept as its JSON text, and noted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    Role,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.located import Located, json_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript.formats.document import Reading

__all__ = ["call_entry", "input_entries", "model_entries", "reasoning_entry", "tool_output"]

_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_IMAGES: Final = ("image", "image_url", "input_image")
_FILES: Final = ("file", "input_file", "document")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "toolCall", "tool_call")
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning")
_DATA_URL: Final = re.compile(r"data:([^;,]*)(?:;[^;,]*)*?;base64,")


def input_entries(role: Role, content: Located, into: Reading) -> list[TranscriptEntry]:
    """Read the content of a system, developer or user message; results in it become results."""
    if not isinstance(content.value, list):
        return [InputEntry(role, content.text(""))]
    entries: list[TranscriptEntry] = []
    parts: list[ContentPart] = []
    for block in content.items():
        if _is_result(_kind(block)):
            if parts:
                entries.append(InputEntry(role, parts))
            parts = []
            entries.append(_result_entry(block, into))
        else:
            parts.append(_part(block, into))
    if parts or not entries:
        entries.append(InputEntry(role, parts))
    return entries


def model_entries(
    content: Located,
    into: Reading,
    *,
    provider: str | None = None,
    id: str | None = None,
    skip_calls: bool = False,
) -> list[TranscriptEntry]:
    """Read what a model said: text, or a list of texts, thoughts, calls and server-side results.

    Args:
        content: The message's content; absent and empty text is no entry.
        into: Takes notes.
        provider: Who wrote the thoughts, as far as known.
        id: The provider's id for the message's texts.
        skip_calls: Whether the calls are listed elsewhere in the message as well.
    """
    if not isinstance(content.value, list):
        text = content.text("")
        return [AssistantTextEntry(text, id)] if text else []
    entries: list[TranscriptEntry] = []
    for block in content.items():
        kind = _kind(block)
        if kind in _CALLS:
            entries += [] if skip_calls else [call_entry(block)]
        elif kind in _THOUGHTS:
            entries.append(reasoning_entry(block, provider))
        elif _is_result(kind):
            entries.append(_result_entry(block, into))
        elif text := _model_text(block, kind, into):
            entries.append(AssistantTextEntry(text, id))
    return entries


def call_entry(node: Located, *, call_id: str | None = None) -> ToolCallEntry:
    """Read a call in any vendor's words; arguments that are no text become their JSON text."""
    arguments = node.first("partialJson", "arguments", "input", "args", "parameters")
    written = arguments.value
    return ToolCallEntry(
        call_id=node.first("call_id", "id").identifier() if call_id is None else call_id,
        name=node.at("name").text(),
        arguments=arguments.text("") if _is_text(written) else json_text(written),
    )


def reasoning_entry(block: Located, provider: str | None) -> ReasoningEntry:
    """Read a thought; what a vendor redacted is its opaque signature."""
    if _kind(block) == "redacted_thinking":
        metadata = {"type": "redacted_thinking"}
        signature = block.at("data").optional_text()
        return ReasoningEntry("", provider=provider, signature=signature, metadata=metadata)
    return ReasoningEntry(
        content=block.first("thinking", "reasoning", "text").text(""),
        id=block.at("id").identifier() or None,
        provider=provider,
        signature=block.first("signature", "thinkingSignature").optional_text(),
    )


def tool_output(content: Located, into: Reading) -> tuple[str, list[ContentPart]]:
    """Read what a tool answered: its texts, joined by line breaks, and everything else as parts."""
    if not isinstance(content.value, list):
        return content.text(""), []
    parts = [_part(block, into) for block in content.items()]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return "\n".join(texts), [part for part in parts if not isinstance(part, TextPart)]


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _kind(block: Located) -> str:
    """Return a block's type; a bare text is a text block."""
    if isinstance(block.value, str):
        return ""
    block.object("a content block (text or an object with a type)")
    return block.at("type").text()


def _is_result(kind: str) -> bool:
    return kind.endswith("tool_result")


def _result_entry(block: Located, into: Reading) -> ToolResultEntry:
    """Read a result block; what a vendor's own tool answers is kept as JSON text."""
    content = block.at("content")
    parts: Sequence[ContentPart] = ()
    if _kind(block) in ("tool_result", "mcp_tool_result") or _is_text(content.value):
        output, parts = tool_output(content, into)
    else:
        output = json_text(content.value)
    answer = content.value if isinstance(content.value, dict) else {}
    failed = block.at("is_error").flag() or str(answer.get("type")).endswith("_error")
    call_id = block.first("tool_use_id", "tool_call_id").identifier()
    return ToolResultEntry(call_id, output, failed, parts)


def _model_text(block: Located, kind: str, into: Reading) -> str:
    if kind == "refusal":
        return block.at("refusal").text()
    part = _part(block, into, only_text=True)
    return part.text if isinstance(part, TextPart) else ""


def _part(block: Located, into: Reading, *, only_text: bool = False) -> ContentPart:
    kind = _kind(block)
    if not kind:
        return TextPart(block.text())
    if kind in _TEXTS:
        return TextPart(block.at("text").text(""))
    if not only_text:
        if kind in _IMAGES:
            return _image(block)
        if kind in _FILES:
            return _file(block)
        if kind == "input_audio":
            audio = block.at("input_audio")
            mime_type = f"audio/{audio.at('format').text('wav')}"
            return FilePart(data=audio.at("data").text(), mime_type=mime_type)
    into.note(block, "A block of a kind that an entry cannot hold was kept as its JSON text.")
    return TextPart(json_text(block.value))


def _image(block: Located) -> ImagePart:
    holder = block.at("image_url")
    nested = holder if isinstance(holder.value, dict) else block
    detail = nested.at("detail").value
    chosen = detail if detail in ("auto", "low", "high") else None
    url, data, mime_type = _where(block, nested, "url" if nested is holder else "image_url")
    return ImagePart(url, data, mime_type, cast("Any", chosen))


def _file(block: Located) -> FilePart | TextPart:
    source = block.at("source")
    if isinstance(source.value, dict) and source.value.get("type") == "text":
        return TextPart(source.at("data").text())
    holder = block.at("file")
    nested = holder if isinstance(holder.value, dict) else block
    url, data, mime_type = _where(block, nested, "file_url")
    return FilePart(url, data, mime_type, nested.first("filename", "title").optional_text())


def _where(
    block: Located, nested: Located, url_key: str
) -> tuple[str | None, str | None, str | None]:
    """Find an image's or a file's address, base64 text and type, wherever a vendor puts them."""
    source = block.at("source")
    holder = source if isinstance(source.value, dict) else nested
    url = holder.first("url", url_key).optional_text()
    data = holder.first("data", "file_data", "base64").optional_text()
    mime_type = holder.first("media_type", "mime_type", "mimeType").optional_text()
    embedded = _DATA_URL.match(data or url or "")
    if embedded:
        return None, (data or url or "")[embedded.end() :], embedded[1] or mime_type
    file_id = holder.at("file_id").identifier()
    if not (url or data or file_id):
        raise block.error("an image or a file (an address, base64 text or a file id)")
    return url or (f"file-id:{file_id}" if not data else None), data, mime_type
