"""OpenAI Responses items: what a request's ``input`` and a response's ``output`` are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.formats.blocks import (
    call_entry,
    input_entries,
    model_entries,
    tool_output,
)
from lovia.transcript.located import Located, json_text

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading

__all__ = ["add_item", "read", "recognises"]

_ROLES: Final = ("system", "developer", "user", "assistant")
_TYPES: Final = ("function_call", "function_call_output", "message", "custom_tool_call")
# What an item of a tool that the provider runs itself says about its result.
_SERVER_RESULTS: Final = ("output", "outputs", "results", "result", "error")


def recognises(document: Document) -> bool:
    """Tell whether the file holds typed items, or an object with ``input`` or ``output``."""
    if document.member("object") is not None and document.member("output") is not None:
        return True
    rows = document.rows
    for key in ("input", "output"):
        listed = document.member(key)
        if listed is not None and isinstance(listed.value, list):
            rows = [*rows, *listed.items()]
    return any(_looks_like_item(row.value) for row in rows)


def read(document: Document, into: Reading) -> None:
    """Read a list of items, one item a line, or an object with ``input``, ``output`` or both."""
    given, made = document.member("input"), document.member("output")
    if given is None and made is None:
        for item in document.rows:
            add_item(item, into)
        return
    instructions = document.member("instructions")
    if instructions is not None and isinstance(instructions.value, str):
        into.add([InputEntry("system", instructions.value)])
    for part in (given, made):
        if part is not None and part.value is not None:
            _read_part(part, into)


def add_item(item: Located, into: Reading) -> None:
    """Read one item; the items that a model makes one after the other are one message."""
    item.object("an item (an object with a type)")
    entries = _entries(item, into)
    continued = _is_made(entries[0]) and bool(into.entries) and _is_made(into.entries[-1])
    into.add(entries, continued=continued)


def _looks_like_item(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return kind in _TYPES or (kind == "reasoning" and "summary" in value)


def _is_made(entry: TranscriptEntry) -> bool:
    return not isinstance(entry, (InputEntry, ToolResultEntry))


def _read_part(part: Located, into: Reading) -> None:
    """Read an ``input`` or ``output``; a bare text is the user's message."""
    if isinstance(part.value, str):
        into.add([InputEntry("user", part.value)])
        return
    for item in part.items("text or a list of items"):
        add_item(item, into)


def _entries(item: Located, into: Reading) -> list[TranscriptEntry]:
    kind = item.at("type").text("message")
    if kind == "message":
        return _message(item, into)
    if kind == "reasoning":
        return [_reasoning(item)]
    if kind.endswith(("_call_output", "_call_response")):
        output, parts = _output(item.at("output"), into)
        return [ToolResultEntry(item.at("call_id").identifier(), output, parts=parts)]
    if kind in ("function_call", "custom_tool_call"):
        return [call_entry(item)]
    if kind.endswith("_call"):
        return _hosted_call(item, kind)
    into.note(item, "An item of a kind that an entry cannot hold was kept as its JSON text.")
    return [AssistantTextEntry(json_text(item.value))]


def _message(item: Located, into: Reading) -> list[TranscriptEntry]:
    role = item.at("role").choice(_ROLES)
    content = item.at("content")
    if role != "assistant":
        return input_entries(cast("Any", role), content, into)
    id_ = item.at("id").identifier() or None
    return model_entries(content, into, id=id_) or [AssistantTextEntry("", id_)]


def _reasoning(item: Located) -> ReasoningEntry:
    texts = [
        block.at("text").text("")
        for key in ("summary", "content")
        if item.at(key).value is not None
        for block in item.at(key).items()
    ]
    return ReasoningEntry(
        "\n\n".join(texts),
        id=item.at("id").identifier() or None,
        provider="openai",
        signature=item.at("encrypted_content").optional_text(),
    )


def _output(output: Located, into: Reading) -> tuple[str, list[Any]]:
    """Read what was answered; the answers of a computer or a shell are kept as JSON text."""
    value = output.value
    blocks = isinstance(value, list) and all(
        isinstance(block, dict) and str(block.get("type")).startswith("input_") for block in value
    )
    if blocks or isinstance(value, str) or value is None:
        return tool_output(output, into)
    return json_text(value), []


def _hosted_call(item: Located, kind: str) -> list[TranscriptEntry]:
    """Read a call of one of the vendor's tools; without a ``call_id`` it was answered in place."""
    value = item.object("an item")
    call_id = item.first("call_id", "id").identifier()
    name = item.at("name").text(kind.removesuffix("_call"))
    if isinstance(value.get("arguments"), str):
        arguments = value["arguments"]
    else:
        told = ("type", "id", "call_id", "status", *_SERVER_RESULTS)
        arguments = json_text({key: value[key] for key in value if key not in told})
    call = ToolCallEntry(call_id, name, arguments)
    if value.get("call_id") is not None:
        return [call]
    result = item.first(*_SERVER_RESULTS, "status").value
    output = result if isinstance(result, str) else json_text(result)
    failed = value.get("error") is not None or value.get("status") == "failed"
    return [call, ToolResultEntry(call_id, output, failed)]
