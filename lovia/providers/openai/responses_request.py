"""From a conversation to the body of a Responses request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.errors import UserError
from lovia.providers.openai.content import responses_content
from lovia.providers.wire.conversation import (
    Call,
    Conversation,
    InputMessage,
    Instruction,
    ModelMessage,
)
from lovia.providers.wire.names import tool_name
from lovia.transcript.entries import AssistantTextEntry, ContentPart, ReasoningEntry, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lovia.providers.base import ModelSettings

__all__ = ["responses_body"]

# These models think nothing, and refuse to be asked for encrypted thoughts.
_THOUGHTLESS = ("gpt-4", "gpt-3.5", "chatgpt-4o", "gpt-5-chat")


def responses_body(
    model: str,
    conversation: Conversation,
    *,
    tools: Sequence[Mapping[str, Any]],
    response_format: Mapping[str, Any] | None,
    settings: ModelSettings,
) -> dict[str, Any]:
    """Return the request; nothing of it is stored by the vendor.

    Raises:
        UserError: The settings ask for stop sequences, which this protocol does not have.
    """
    if settings.stop:
        message = "The Responses protocol has no stop sequences."
        raise UserError(message, hint="Leave ModelSettings(stop=...) out, or use Chat Completions.")
    body: dict[str, Any] = {
        "model": model,
        "instructions": "\n\n".join(conversation.system) or None,
        "input": list(_items(conversation)),
        "stream": True,
        "store": False,
        "include": None if model.startswith(_THOUGHTLESS) else ["reasoning.encrypted_content"],
        "tools": [_tool(tool["function"]) for tool in tools] or None,
        "parallel_tool_calls": settings.parallel_tool_calls if tools else None,
        "text": _text_format(response_format),
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_output_tokens": settings.max_tokens,
    }
    return {key: value for key, value in body.items() if value is not None}


def _items(conversation: Conversation) -> Iterator[dict[str, Any]]:
    for message in conversation.messages:
        yield from _heard(message) if isinstance(message, InputMessage) else _said(message)


def _heard(message: InputMessage) -> Iterator[dict[str, Any]]:
    parts: list[ContentPart] = []
    for part in message.parts:
        if not isinstance(part, Instruction):
            parts.append(part)
            continue
        if parts:
            yield _message("user", responses_content(parts))
            parts = []
        yield _message(part.role, responses_content([TextPart(part.text)]))
    if parts:
        yield _message("user", responses_content(parts))


def _said(message: ModelMessage) -> Iterator[dict[str, Any]]:
    for item in message.items:
        match item:
            case ReasoningEntry():
                yield _reasoning(item)
            case AssistantTextEntry():
                yield _message("assistant", [{"type": "output_text", "text": item.content}])
            case Call():
                yield {
                    "type": "function_call",
                    "call_id": item.id,
                    "name": tool_name(item.entry.name),
                    "arguments": item.entry.arguments if item.entry.arguments.strip() else "{}",
                }
    for call in message.calls:
        output: Any = call.output
        if call.parts:
            output = responses_content([TextPart(call.output), *call.parts])
        yield {"type": "function_call_output", "call_id": call.id, "output": output}


def _message(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _reasoning(thought: ReasoningEntry) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": thought.content}] if thought.content else []
    item = {"type": "reasoning", "summary": summary, "encrypted_content": thought.signature}
    return {**item, "id": thought.id} if thought.id else item


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    # This protocol makes tools strict unless it is told not to.
    return {
        "type": "function",
        **function,
        "name": tool_name(function["name"]),
        "strict": bool(function.get("strict")),
    }


def _text_format(response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not response_format:
        return None
    schema = response_format.get("json_schema")
    if not isinstance(schema, dict):
        return {"format": dict(response_format)}
    return {"format": {"type": "json_schema", **schema}}
