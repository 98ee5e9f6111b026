"""OpenAI Chat Completions messages, which many other servers and gateways speak as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from lovia.transcript.entries import (
    AssistantTextEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.formats.blocks import (
    call_entry,
    input_entries,
    model_entries,
    reasoning_entry,
    tool_output,
)

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["chat_message", "read", "recognises"]

_INPUTS: Final = ("system", "developer", "user")
_ROLES: Final = (*_INPUTS, "assistant", "tool", "function")


def recognises(document: Document) -> bool:
    """Tell whether the file holds messages with a role and content (or calls) of their own."""
    listed = document.member("messages")
    rows = document.rows if listed is None else (listed.items() if _is_list(listed) else [])
    return any(isinstance(row.value, dict) and row.value.get("role") in _ROLES for row in rows)


def read(document: Document, into: Reading) -> None:
    """Read a list of messages, an object with ``messages``, or one message a line."""
    for message in document.messages():
        into.add(chat_message(message, into))


def chat_message(message: Located, into: Reading) -> list[TranscriptEntry]:
    """Read one message."""
    message.object("a message (an object with a role)")
    role = message.at("role").choice(_ROLES)
    if role in _INPUTS:
        return input_entries(cast("Any", role), message.at("content"), into)
    if role == "assistant":
        return _assistant(message, into)
    output, parts = tool_output(message.at("content"), into)
    return [ToolResultEntry(call_id, output, parts=parts) for call_id in _answered(message, role)]


def _is_list(node: Located) -> bool:
    return isinstance(node.value, list)


def _assistant(message: Located, into: Reading) -> list[TranscriptEntry]:
    """Read a model message in the order in which it was made: thought, text, calls."""
    calls = _calls(message)
    entries = _thoughts(message)
    entries += model_entries(message.at("content"), into, skip_calls=bool(calls))
    refusal = message.at("refusal").text("")
    spoken = message.at("audio")
    if isinstance(spoken.value, dict):
        refusal += spoken.at("transcript").text("")
    return entries + ([AssistantTextEntry(refusal)] if refusal else []) + calls


def _thoughts(message: Located) -> list[TranscriptEntry]:
    blocks = message.at("thinking_blocks")
    if blocks.value:
        return [reasoning_entry(block, "anthropic") for block in blocks.items()]
    text = message.first("reasoning_content", "reasoning", "thinking").text("")
    details = message.at("reasoning_details")
    if not (text or details.value):
        return []
    metadata = {"reasoning_details": details.value} if details.value else {}
    return [ReasoningEntry(text, metadata=metadata)]


def _calls(message: Located) -> list[TranscriptEntry]:
    listed = message.at("tool_calls")
    calls: list[TranscriptEntry] = []
    if listed.value is not None:
        calls += [_call(call) for call in listed.items("a list of tool calls")]
    legacy = message.at("function_call")
    if legacy.value is not None:
        # The call has no id and its result names the function, so that name pairs them.
        calls.append(call_entry(legacy, call_id=legacy.at("name").text()))
    return calls


def _call(call: Located) -> ToolCallEntry:
    """Read a call: of a function, of a custom tool, or written flat."""
    call.object("a tool call (an object)")
    inner = call.first("function", "custom")
    if inner.value is None:
        return call_entry(call)
    return call_entry(inner, call_id=call.at("id").identifier())


def _answered(message: Located, role: str) -> list[str]:
    """Return the ids of the calls that a tool message answers; a missing id stays empty."""
    if role == "function":
        return [message.at("name").text()]
    several = message.at("tool_call_ids")
    if several.value:
        return [item.identifier() for item in several.items()]
    return [message.at("tool_call_id").identifier()]
