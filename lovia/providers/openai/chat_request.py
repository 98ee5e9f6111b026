"""From a conversation to the body of a Chat Completions request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.providers.openai.content import chat_content
from lovia.providers.wire.arguments import arguments_text
from lovia.providers.wire.conversation import (
    Call,
    Conversation,
    InputMessage,
    Instruction,
    ModelMessage,
    as_content,
)
from lovia.providers.wire.names import tool_name
from lovia.transcript.entries import ContentPart, ReasoningEntry, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lovia.providers.base import ModelSettings
    from lovia.providers.openai.dialect import ChatDialect

__all__ = ["CALL_EXTRAS", "DETAILS", "FIELD", "chat_body", "function_tool"]

# Where a thought keeps, in its metadata, what its server wants to see again.
FIELD: Final = "reasoning_field"  # the message's field for the readable text
DETAILS: Final = "reasoning_details"  # OpenRouter's blocks
CALL_EXTRAS: Final = "extra_content"  # Gemini's signatures, by the position of the call

_ATTACHED: Final = "Attached to the result of call {id}:"
_POINTER: Final = "(The attached images and files are in the next message.)"


def chat_body(
    model: str,
    conversation: Conversation,
    dialect: ChatDialect,
    *,
    tools: Sequence[Mapping[str, Any]],
    response_format: Mapping[str, Any] | None,
    settings: ModelSettings,
) -> dict[str, Any]:
    """Return the request."""
    body: dict[str, Any] = {
        "model": model,
        "messages": _Messages(dialect, conversation).all(),
        "stream": True,
        "stream_options": {"include_usage": True} if dialect.stream_usage else None,
        "tools": [function_tool(tool) for tool in tools] or None,
        "parallel_tool_calls": settings.parallel_tool_calls if tools else None,
        "response_format": dict(response_format) if response_format else None,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        dialect.max_tokens: settings.max_tokens,
        "stop": list(settings.stop) if settings.stop else None,
    }
    return {key: value for key, value in body.items() if value is not None}


def function_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema under a name that the wire accepts."""
    function = dict(tool["function"])
    return {"type": "function", "function": {**function, "name": tool_name(function["name"])}}


class _Messages:
    """Writes the messages of one conversation."""

    def __init__(self, dialect: ChatDialect, conversation: Conversation) -> None:
        self._dialect = dialect
        self._conversation = conversation
        self._field = dialect.reasoning_field or _field_in_use(conversation)

    def all(self) -> list[dict[str, Any]]:
        """Return all messages, the system prompt first."""
        written: list[dict[str, Any]] = []
        if self._conversation.system:
            text = "\n\n".join(self._conversation.system)
            written.append({"role": "system", "content": text})
        attached: list[ContentPart] = []
        for message in self._conversation.messages:
            if isinstance(message, InputMessage):
                written.extend(self._heard(message, attached))
                attached = []
                continue
            if attached:
                written.append({"role": "user", "content": chat_content(attached)})
            written.append(self._said(message))
            written.extend(map(_result, message.calls))
            attached = list(_attachments(message.calls))
        if attached:
            written.append({"role": "user", "content": chat_content(attached)})
        return written

    def _heard(
        self, message: InputMessage, attached: Sequence[ContentPart]
    ) -> Iterable[dict[str, Any]]:
        """Write what was heard, behind what is attached to results (tool messages are text)."""
        if not self._dialect.system_anywhere:
            yield {"role": "user", "content": chat_content([*attached, *as_content(message)])}
            return
        parts: list[ContentPart] = list(attached)
        for part in message.parts:
            if not isinstance(part, Instruction):
                parts.append(part)
                continue
            if parts:
                yield {"role": "user", "content": chat_content(parts)}
                parts = []
            yield {"role": part.role, "content": part.text}
        if parts:
            yield {"role": "user", "content": chat_content(parts)}

    def _said(self, message: ModelMessage) -> dict[str, Any]:
        """Write a model message; a server gets back what its own model thought."""
        written: dict[str, Any] = {
            "role": "assistant",
            "content": "\n\n".join(message.texts) or None,
        }
        if message.calls:
            extras = _call_extras(message)
            written["tool_calls"] = [
                self._call(call, extras.get(index)) for index, call in enumerate(message.calls)
            ]
            if self._field:
                written[self._field] = ""
        for thought in message.thoughts:
            _add_thought(written, thought)
        return written

    def _call(self, call: Call, extra: Any) -> dict[str, Any]:
        text = call.entry.arguments
        raw = self._dialect.raw_arguments and text.strip()
        arguments = text if raw else arguments_text(text)
        function = {"name": tool_name(call.entry.name), "arguments": arguments}
        written = {"id": call.id, "type": "function", "function": function}
        extra = extra or self._dialect.unsigned_call
        return {**written, "extra_content": extra} if extra else written


def _field_in_use(conversation: Conversation) -> str | None:
    """Return the field in which this server's own thoughts go back, once there is one.

    Servers that want a thought back want the field on every message with calls from then on.
    """
    for message in conversation.messages:
        for thought in message.thoughts if isinstance(message, ModelMessage) else ():
            if thought.content and thought.metadata.get(FIELD):
                return str(thought.metadata[FIELD])
    return None


def _add_thought(written: dict[str, Any], thought: ReasoningEntry) -> None:
    field = thought.metadata.get(FIELD)
    if field and thought.content:
        written[field] = (written.get(field) or "") + thought.content
    details = thought.metadata.get(DETAILS)
    if isinstance(details, (list, tuple)):
        written[DETAILS] = [*written.get(DETAILS, ()), *details]


def _call_extras(message: ModelMessage) -> dict[int, Any]:
    """Return what calls carry beside their fields, by their position in the message."""
    extras: dict[int, Any] = {}
    position = 0
    for item in message.items:
        if isinstance(item, Call):
            position += 1
        elif isinstance(item, ReasoningEntry):
            kept = item.metadata.get(CALL_EXTRAS) or {}
            extras |= {position + int(index): extra for index, extra in kept.items()}
    return extras


def _result(call: Call) -> dict[str, Any]:
    content = f"{call.output}\n\n{_POINTER}" if call.parts else call.output
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _attachments(calls: Iterable[Call]) -> Iterable[ContentPart]:
    for call in calls:
        if call.parts:
            yield TextPart(_ATTACHED.format(id=call.id))
            yield from call.parts
