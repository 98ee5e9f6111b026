"""From a conversation to the body of a Messages request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lovia.providers.anthropic.content import content_blocks, text_block
from lovia.providers.anthropic.prefix import Prefix
from lovia.providers.wire.arguments import arguments_object
from lovia.providers.wire.conversation import (
    Call,
    Conversation,
    InputMessage,
    Instruction,
    ModelMessage,
)
from lovia.providers.wire.names import tool_name
from lovia.transcript.entries import AssistantTextEntry, ReasoningEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lovia.providers.base import ModelSettings

__all__ = ["REDACTED", "MessagesRequest", "messages_request", "without_impossible_thinking"]

#: How a thought is marked, in its metadata, of which the vendor gave nothing to read.
REDACTED: Final = "redacted_thinking"

_ATTACHED: Final = "Attached to the result of call {id}:"
_NO_LONGER: Final = "No longer available."
_ANY_OBJECT: Final = {"type": "object"}


@dataclass(frozen=True)
class MessagesRequest:
    """A request.

    Attributes:
        body: Its JSON.
        prefix: The digest of all that it says; the answer's thoughts are kept with it.
    """

    body: dict[str, Any]
    prefix: str


def messages_request(
    conversation: Conversation,
    *,
    tools: Sequence[Mapping[str, Any]],
    binds_thoughts: bool,
    takes_instructions: bool,
) -> MessagesRequest:
    """Return the part of a request that is what was said.

    Args:
        conversation: The messages.
        tools: Function schemas.
        binds_thoughts: Whether a thought is refused when anything before it has changed.
        takes_instructions: Whether system messages may stand after the beginning.
    """
    system = [text_block(text) for text in conversation.system]
    offered = [_tool(tool["function"]) for tool in tools] or _stand_ins(conversation)
    writer = _Writer(
        Prefix(system, offered),
        binds_thoughts=binds_thoughts,
        takes_instructions=takes_instructions,
    )
    for message in conversation.messages:
        writer.add(message)
    body: dict[str, Any] = {"messages": writer.messages}
    if system:
        body["system"] = system
    if offered:
        body["tools"] = offered
        if not tools:
            body["tool_choice"] = {"type": "none"}
    return MessagesRequest(body, writer.finish())


def tool_choice(settings: ModelSettings) -> dict[str, Any] | None:
    """Return what keeps the model to one call at a time, where that is wanted."""
    if settings.parallel_tool_calls is not False:
        return None
    return {"type": "auto", "disable_parallel_tool_use": True}


def without_impossible_thinking(body: dict[str, Any]) -> None:
    """Take out a thinking budget that the vendor would refuse, in place.

    With a budget, the message whose calls were just answered has to begin with a thought. It has
    none when another vendor's model made the calls; the model thinks again from its next turn on.
    """
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    asked = [message for message in body["messages"] if message["role"] == "assistant"]
    answered = any(block["type"] == "tool_result" for block in body["messages"][-1]["content"])
    if asked and answered and "thinking" not in asked[-1]["content"][0]["type"]:
        del body["thinking"]


class _Writer:
    """Writes messages and keeps the digest of what stands before each."""

    def __init__(self, prefix: Prefix, *, binds_thoughts: bool, takes_instructions: bool) -> None:
        self.messages: list[dict[str, Any]] = []
        self._prefix = prefix
        self._digested = 0
        self._binds_thoughts = binds_thoughts
        self._takes_instructions = takes_instructions

    def add(self, message: InputMessage | ModelMessage) -> None:
        """Write the next message."""
        if isinstance(message, InputMessage):
            self._hear(message)
        else:
            self._say(message)

    def finish(self) -> str:
        """Return the digest of all messages."""
        self._digest()
        return self._prefix.digest

    def _hear(self, message: InputMessage) -> None:
        parts = list(message.parts)
        instructions: list[str] = []
        behind_results = bool(self.messages) and self.messages[-1]["role"] == "user"
        # A system message stands alone between a user's and the model's, or at the end.
        while self._takes_instructions and (len(parts) > 1 or behind_results):
            if not parts or not isinstance(parts[-1], Instruction):
                break
            instructions.insert(0, parts.pop().text)  # type: ignore[union-attr] # checked above
        blocks = content_blocks(
            part.as_part() if isinstance(part, Instruction) else part for part in parts
        )
        self._add_user(blocks)
        if instructions:
            self.messages.append(
                {"role": "system", "content": [text_block("\n\n".join(instructions))]}
            )

    def _say(self, message: ModelMessage) -> None:
        self._digest()
        bound = self._binds_thoughts
        blocks = [
            _said(item)
            for item in message.items
            if not isinstance(item, ReasoningEntry) or not bound or self._prefix.is_of(item)
        ]
        self.messages.append({"role": "assistant", "content": blocks})
        if message.calls:
            self._add_user([_result(call) for call in message.calls])
            self._add_user(list(_attachments(message.calls)))

    def _add_user(self, blocks: list[dict[str, Any]]) -> None:
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages[-1]["content"].extend(blocks)
        elif blocks:
            self.messages.append({"role": "user", "content": blocks})

    def _digest(self) -> None:
        self._prefix.extend(self.messages[self._digested :])
        self._digested = len(self.messages)


def _said(item: ReasoningEntry | AssistantTextEntry | Call) -> dict[str, Any]:
    match item:
        case AssistantTextEntry():
            return text_block(item.content)
        case Call():
            name, arguments = tool_name(item.entry.name), arguments_object(item.entry.arguments)
            return {"type": "tool_use", "id": item.id, "name": name, "input": arguments}
        case ReasoningEntry() if item.metadata.get("type") == REDACTED:
            return {"type": REDACTED, "data": item.signature or ""}
        case ReasoningEntry():
            return {
                "type": "thinking",
                "thinking": item.content,
                "signature": item.signature or "",
            }


def _result(call: Call) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    if call.is_error:  # the vendor takes nothing but text then
        return {**result, "content": call.output, "is_error": True}
    if call.parts:
        return {**result, "content": [text_block(call.output), *content_blocks(call.parts)]}
    return {**result, "content": call.output}


def _attachments(calls: Iterable[Call]) -> Iterable[dict[str, Any]]:
    for call in calls:
        if call.is_error and call.parts:
            yield text_block(_ATTACHED.format(id=call.id))
            yield from content_blocks(call.parts)


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    tool: dict[str, Any] = {
        "name": tool_name(function["name"]),
        "description": function.get("description") or "",
        "input_schema": {**_ANY_OBJECT, **(function.get("parameters") or {})},
    }
    return {**tool, "strict": True} if function.get("strict") else tool


def _stand_ins(conversation: Conversation) -> list[dict[str, Any]]:
    """Return tools for the calls of a conversation in which none is offered any more.

    The vendor refuses calls and results in a request without tools.
    """
    names = {
        tool_name(call.entry.name): None
        for message in conversation.messages
        if isinstance(message, ModelMessage)
        for call in message.calls
    }
    return [
        {"name": name, "description": _NO_LONGER, "input_schema": dict(_ANY_OBJECT)}
        for name in names
    ]
