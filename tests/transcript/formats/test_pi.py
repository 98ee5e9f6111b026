"""Session logs of the pi agent: the last branch of what was really said."""

from __future__ import annotations

from typing import Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import (
    AssistantTextEntry,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from tests.transcript.formats.loaded import recorded_lines

HEADER = {"type": "session", "version": 3, "id": "s", "cwd": "/work"}


def row(role: str, content: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a message row."""
    return {"type": "message", "message": {"role": role, "content": content, **fields}}


def text(words: str) -> list[dict[str, str]]:
    """Return content of one text block."""
    return [{"type": "text", "text": words}]


def test_a_session() -> None:
    """Messages become entries; a compaction of the tool is left out and noted."""
    rows = [
        HEADER,
        row("user", text("hello")),
        {"type": "model_change", "modelId": "m"},
        row(
            "assistant",
            [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                *text("let me see"),
                {"type": "toolCall", "id": "a", "name": "read", "arguments": {"path": "x"}},
            ],
            provider="anthropic",
        ),
        row("toolResult", text("one"), toolCallId="a", isError=True),
        {"type": "compaction", "summary": "hello was said", "tokensBefore": 175_004},
        row("assistant", []),
    ]

    recording = recorded_lines(rows)

    assert recording.format == "pi"
    assert recording.entries == [
        InputEntry("user", [TextPart("hello")]),
        ReasoningEntry("hm", provider="anthropic", signature="s"),
        AssistantTextEntry("let me see"),
        ToolCallEntry("a", "read", '{"path": "x"}'),
        ToolResultEntry("a", "one", is_error=True),
        AssistantTextEntry(""),
    ]
    assert recording.messages == (0, 1, 1, 1, 2, 3)
    assert [note.position for note in recording.notes] == ["line 6"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            row(
                "assistant",
                [{"type": "toolCall", "id": "a", "name": "f", "arguments": {}, "partialJson": "{"}],
            ),
            [ToolCallEntry("a", "f", "{")],
        ),
        (
            row("user", [{"type": "image", "data": "QUI=", "mimeType": "image/png"}]),
            [InputEntry("user", [ImagePart(data="QUI=", mime_type="image/png")])],
        ),
        (
            row("bashExecution", command="ls", output="a\nb", exitCode=0, cancelled=False),
            [InputEntry("user", "Ran `ls`\n```\na\nb\n```")],
        ),
        (
            row("bashExecution", command="ls", output="", exitCode=2, cancelled=True),
            [InputEntry("user", "Ran `ls`\n```\n\n```\nExit code: 2\nThe user cancelled it.")],
        ),
        (row("custom", "told by an extension"), [InputEntry("user", "told by an extension")]),
        ({"type": "custom_message", "content": "likewise"}, [InputEntry("user", "likewise")]),
        (row("compactionSummary", summary="s"), []),
        ({"type": "label", "label": "x"}, []),
    ],
)
def test_each_kind_of_row(line: dict[str, Any], expected: list[TranscriptEntry]) -> None:
    """What the model was told becomes an entry; everything else is left out."""
    assert recorded_lines([HEADER, row("user", "hello"), line]).entries[1:] == expected


def test_only_the_last_branch_of_a_tree_is_read() -> None:
    """Rows on abandoned branches are left out, counted and noted."""
    rows = [
        HEADER,
        {**row("user", "one"), "id": "1", "parentId": None},
        {**row("user", "abandoned"), "id": "2", "parentId": "1"},
        {**row("user", "abandoned too"), "id": "3", "parentId": "2"},
        {**row("user", "two"), "id": "4", "parentId": "1"},
    ]

    recording = recorded_lines(rows)

    assert recording.entries == [InputEntry("user", "one"), InputEntry("user", "two")]
    assert [note.text[:6] for note in recording.notes] == ["2 rows"]


def test_a_tree_that_bites_its_tail_is_read_once() -> None:
    """A cycle of parents ends where it began."""
    rows = [
        {**row("user", "one"), "id": "1", "parentId": "2"},
        {**row("user", "two"), "id": "2", "parentId": "1"},
    ]

    assert len(recorded_lines(rows).entries) == 2


@pytest.mark.parametrize(
    ("line", "position"),
    [
        (7, "line 3"),
        ({"type": 7}, "line 3, type"),
        ({"type": "message", "message": "x"}, "line 3, message"),
        (row("boss"), "line 3, message.role"),
        (row("toolResult", text("x"), toolCallId="a", isError=1), "line 3, message.isError"),
        (row("assistant", [{"type": "toolCall"}]), "line 3, message.content[0].name"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(line: Any, position: str) -> None:
    """The error leads to the line and the value in it."""
    with pytest.raises(TranscriptFormatError) as caught:
        recorded_lines([HEADER, row("user", "hello"), line])

    assert caught.value.position == position
