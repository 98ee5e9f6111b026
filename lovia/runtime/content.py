"""Entries as telemetry shows them: the message shape of the GenAI conventions.

Built only where an application has asked for content in its traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["as_messages"]


def as_messages(
    entries: Iterable[TranscriptEntry], *, finish_reason: str | None = None
) -> list[dict[str, Any]]:
    """Return entries as messages; what one speaker said in a row is one message.

    Args:
        entries: The entries of a request or of an answer.
        finish_reason: Why the answer ended; put on its last message.
    """
    messages: list[dict[str, Any]] = []
    for entry in entries:
        role, part = _part(entry)
        if not messages or messages[-1]["role"] != role or role == "user":
            messages.append({"role": role, "parts": []})
        messages[-1]["parts"].append(part)
    if messages and finish_reason is not None:
        messages[-1]["finish_reason"] = finish_reason
    return messages


def _part(entry: TranscriptEntry) -> tuple[str, dict[str, Any]]:
    match entry:
        case InputEntry():
            return entry.role, {"type": "text", "content": text_of(entry)}
        case AssistantTextEntry():
            return "assistant", {"type": "text", "content": entry.content}
        case ReasoningEntry():
            return "assistant", {"type": "reasoning", "content": entry.content}
        case ToolCallEntry():
            part = {"type": "tool_call", "id": entry.call_id, "name": entry.name}
            return "assistant", {**part, "arguments": entry.arguments}
        case ToolResultEntry():
            part = {"type": "tool_call_response", "id": entry.call_id}
            return "tool", {**part, "response": text_of(entry)}
