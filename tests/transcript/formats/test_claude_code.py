"""Session logs of Claude Code: the main conversation, put together from its pieces."""

from __future__ import annotations

from typing import Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
)
from tests.transcript.formats.loaded import recorded_lines


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """Return a row with a user message."""
    return {"type": "user", "uuid": "u", "message": {"role": "user", "content": content}, **fields}


def assistant(block: dict[str, Any], id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    """Return a row with one block of a model message."""
    message = {"id": id, "role": "assistant", "content": [block]}
    return {"type": "assistant", "uuid": "u", "message": message, **fields}


def test_a_session() -> None:
    """Blocks of one message in several rows count as one message; other rows are passed over."""
    rows = [
        {"type": "file-history-snapshot", "snapshot": {}},
        user("hello"),
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"},
        assistant({"type": "thinking", "thinking": "hm", "signature": "s"}),
        assistant({"type": "text", "text": "let me see"}),
        assistant({"type": "tool_use", "id": "a", "name": "Read", "input": {}}),
        user([{"type": "tool_result", "tool_use_id": "a", "content": "one"}], toolUseResult={}),
        assistant({"type": "text", "text": "done"}, id="msg_2"),
    ]

    recording = recorded_lines(rows)

    assert recording.format == "claude-code"
    assert recording.entries == [
        InputEntry("user", "hello"),
        ReasoningEntry("hm", provider="anthropic", signature="s"),
        AssistantTextEntry("let me see"),
        ToolCallEntry("a", "Read", "{}"),
        ToolResultEntry("a", "one"),
        AssistantTextEntry("done"),
    ]
    assert recording.messages == (0, 1, 1, 1, 2, 3)


@pytest.mark.parametrize("mark", ["isSidechain", "isCompactSummary"])
def test_what_the_main_conversation_does_not_contain_is_left_out(mark: str) -> None:
    """Subagents' messages and the tool's own summaries are left out and noted."""
    recording = recorded_lines([user("hello"), user("something else", **{mark: True})])

    assert recording.entries == [InputEntry("user", "hello")]
    assert [note.position for note in recording.notes] == ["line 2"]


def test_a_wrong_type_deep_inside_is_named() -> None:
    """The error leads to the line and the value in it."""
    with pytest.raises(TranscriptFormatError) as caught:
        recorded_lines([user("hello"), user(7)])

    assert caught.value.position == "line 2, message.content"
