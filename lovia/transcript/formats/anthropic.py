"""Anthropic Messages: content blocks, thoughts with signatures, results inside user messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.transcript.formats.blocks import input_entries, model_entries

if TYPE_CHECKING:
    from lovia.transcript.entries import TranscriptEntry
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["PROVIDER", "message_entries", "read", "recognises"]

PROVIDER: Final = "anthropic"
_BLOCKS: Final = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use")
_ROLES: Final = ("user", "assistant", "system")


def recognises(document: Document) -> bool:
    """Tell whether a message has the vendor's blocks, or ``system`` stands beside ``messages``."""
    listed = document.member("messages")
    if listed is None:
        messages = [row.value for row in document.rows]
    elif not isinstance(listed.value, list):
        return False
    elif document.member("system") is not None:
        return True
    else:
        messages = listed.value
    foreign = any(isinstance(m, dict) and _speaks_openai(m) for m in messages)
    return not foreign and any(_has_own_block(message) for message in messages)


def read(document: Document, into: Reading) -> None:
    """Read a list of messages, one message a line, or an object with them and ``system``."""
    system = document.member("system")
    if system is not None and system.value:
        into.add(input_entries("system", system, into))
    for message in document.messages():
        into.add(message_entries(message, into))


def message_entries(message: Located, into: Reading) -> list[TranscriptEntry]:
    """Read one message."""
    message.object("a message (an object with a role)")
    role = message.at("role").choice(_ROLES)
    content = message.at("content")
    if role == "assistant":
        return model_entries(content, into, provider=PROVIDER)
    return input_entries("system" if role == "system" else "user", content, into)


def _speaks_openai(message: dict[str, Any]) -> bool:
    return "tool_calls" in message or message.get("role") in ("tool", "developer", "function")


def _has_own_block(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or "role" not in message:
        return False
    blocks = [block for block in content if isinstance(block, dict)]
    return any(
        block.get("type") in _BLOCKS
        or (block.get("type") in ("image", "document") and isinstance(block.get("source"), dict))
        for block in blocks
    )
