"""LangChain messages: serialised constructors, plain dictionaries, and LangGraph thread states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lovia.transcript.entries import ReasoningEntry, ToolResultEntry, TranscriptEntry
from lovia.transcript.formats.blocks import call_entry, input_entries, model_entries, tool_output

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["read", "recognises"]

_INPUTS: Final = {"human": "user", "user": "user", "system": "system", "developer": "developer"}
_MODEL: Final = ("ai", "assistant")
_RESULTS: Final = ("tool", "function")
_TYPES: Final = (*_INPUTS, *_MODEL, *_RESULTS)


def recognises(document: Document) -> bool:
    """Tell whether the messages say ``human`` or ``ai``, or are constructors of such classes."""
    messages = _messages(document)
    values = messages.value if messages else [row.value for row in document.rows]
    return isinstance(values, list) and any(_looks_like_message(value) for value in values)


def read(document: Document, into: Reading) -> None:
    """Read a list of messages, an object with them, or a thread with ``values.messages``."""
    messages = _messages(document)
    for message in document.rows if messages is None else messages.items("a list of messages"):
        into.add(_entries(message, into))


def _messages(document: Document) -> Located | None:
    return document.member("messages") or document.member("values", "messages")


def _looks_like_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") == "constructor":
        return isinstance(value.get("kwargs"), dict)
    fields = value.get("data", value)
    return (
        value.get("type") in _TYPES
        and "role" not in value
        and isinstance(fields, dict)
        and "content" in fields
    )


def _entries(message: Located, into: Reading) -> list[TranscriptEntry]:
    message.object("a message (an object with a type)")
    fields, kind = _fields(message)
    content = fields.at("content")
    if kind in _INPUTS:
        return input_entries(cast("Any", _INPUTS[kind]), content, into)
    if kind in _MODEL:
        return _model(fields, into)
    output, parts = tool_output(content, into)
    failed = fields.at("status").value == "error"
    call_id = fields.first("tool_call_id", "name").identifier()
    return [ToolResultEntry(call_id, output, failed, parts)]


def _fields(message: Located) -> tuple[Located, str]:
    """Return the message's fields and kind, out of whichever wrapping it has."""
    if message.at("type").value == "constructor":
        fields = message.at("kwargs")
        kind = fields.at("type").text("") or _class_name(message)
        kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
        if kind not in _TYPES:
            raise message.at("id").error("the class of a message")
        return fields, kind
    wrapped = message.at("data")
    fields = message if wrapped.value is None else wrapped
    return fields, message.at("type").choice(_TYPES)


def _class_name(message: Located) -> str:
    path = message.at("id").items("the path of a class")
    return path[-1].text() if path else ""


def _model(fields: Located, into: Reading) -> list[TranscriptEntry]:
    """Read a model message; its calls stand in lists of their own, and often in the content too."""
    calls: list[TranscriptEntry] = []
    for key in ("tool_calls", "invalid_tool_calls"):
        listed = fields.at(key)
        calls += [] if listed.value is None else [call_entry(call) for call in listed.items()]
    extra = fields.at("additional_kwargs")
    thought = extra.at("reasoning_content").text("") if isinstance(extra.value, dict) else ""
    content = model_entries(fields.at("content"), into, skip_calls=bool(calls))
    return [*([ReasoningEntry(thought)] if thought else []), *content, *calls]
