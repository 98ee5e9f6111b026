"""Entries of the 0.9 line as the GenAI conventions' messages, for traces that may hold content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Part = dict[str, Any]


def messages_of(entries: Sequence[Any]) -> list[Part]:
    """Return one message an entry; an entry that nobody knows is shown as its class alone."""
    return [_message(entry) for entry in entries]


def _message(entry: Any) -> Part:
    if isinstance(entry, str):
        return {"role": "assistant", "parts": [_text(entry)]}
    kind = type(entry).__name__
    make = _KINDS.get(kind)
    if make is None:
        return {"role": "unknown", "parts": [{"type": kind}]}
    role, part = make(entry)
    return {"role": role, "parts": [part]}


def _text(content: Any) -> Part:
    if isinstance(content, str):
        return {"type": "text", "content": content}
    shown = [getattr(part, "text", None) or f"<{type(part).__name__}>" for part in content or ()]
    return {"type": "text", "content": "\n".join(shown)}


def _call(entry: Any) -> tuple[str, Part]:
    part = {"type": "tool_call", "id": entry.call_id, "name": entry.name}
    return "assistant", {**part, "arguments": entry.arguments}


def _result(entry: Any) -> tuple[str, Part]:
    return "tool", {"type": "tool_call_response", "id": entry.call_id, "response": entry.output}


_KINDS: Final[Mapping[str, Callable[[Any], tuple[str, Part]]]] = {
    "InputEntry": lambda entry: (entry.role, _text(entry.content)),
    "AssistantTextEntry": lambda entry: ("assistant", _text(entry.content)),
    "ReasoningEntry": lambda entry: ("assistant", {**_text(entry.content), "type": "reasoning"}),
    "ToolCallEntry": _call,
    "ToolResultEntry": _result,
}
