"""Session logs of the Codex CLI: the items between events and settings."""

from __future__ import annotations

from typing import Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import InputEntry, ReasoningEntry, TextPart, ToolCallEntry, ToolResultEntry
from tests.transcript.formats.loaded import recorded_lines


def item(payload: Any) -> dict[str, Any]:
    """Return a row with an item."""
    return {"timestamp": "t", "type": "response_item", "payload": payload}


USER = item(
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
)


def test_a_session() -> None:
    """Items become entries; events and settings are passed over, a compaction is noted."""
    rows = [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}},
        USER,
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message"}},
        item({"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        item({"type": "function_call", "call_id": "a", "name": "shell", "arguments": "{}"}),
        {"timestamp": "t", "type": "compacted", "payload": {"message": "summary"}},
        item({"type": "function_call_output", "call_id": "a", "output": "one"}),
    ]

    recording = recorded_lines(rows)

    assert recording.format == "codex"
    assert recording.entries == [
        InputEntry("user", [TextPart("hello")]),
        ReasoningEntry("", provider="openai", signature="x"),
        ToolCallEntry("a", "shell", "{}"),
        ToolResultEntry("a", "one"),
    ]
    assert recording.messages == (0, 1, 1, 2)
    assert [note.position for note in recording.notes] == ["line 6"]


@pytest.mark.parametrize(
    ("row", "position"),
    [
        (7, "line 2"),
        (item(7), "line 2, payload"),
        (item({"type": "function_call"}), "line 2, payload.name"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(row: Any, position: str) -> None:
    """The error leads to the line and the value in it."""
    with pytest.raises(TranscriptFormatError) as caught:
        recorded_lines([USER, row])

    assert caught.value.position == position
