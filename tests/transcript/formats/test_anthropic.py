"""Anthropic Messages become entries: blocks in their order, results out of user messages."""

from __future__ import annotations

from typing import Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import (
    AssistantTextEntry,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from tests.transcript.formats.loaded import loaded, recorded, recorded_lines

CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {"q": "é"}}


def answer(content: Any, **fields: Any) -> dict[str, Any]:
    """Return a user message with one result."""
    block = {"type": "tool_result", "tool_use_id": "a", "content": content, **fields}
    return {"role": "user", "content": [block]}


def test_a_conversation_with_tools() -> None:
    """The system prompt comes first; thoughts, texts and calls keep their order."""
    document = {
        "model": "m",
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "opaque"},
                    {"type": "text", "text": "let me see"},
                    CALL,
                ],
            },
            answer("one"),
            {"role": "assistant", "content": "done"},
        ],
    }

    recording = recorded(document)

    assert recording.format == "anthropic"
    assert recording.entries == [
        InputEntry("system", [TextPart("be brief")]),
        InputEntry("user", "hello"),
        ReasoningEntry("hm", provider="anthropic", signature="s"),
        ReasoningEntry(
            "",
            provider="anthropic",
            signature="opaque",
            metadata={"type": "redacted_thinking"},
        ),
        AssistantTextEntry("let me see"),
        ToolCallEntry("a", "f", '{"q": "é"}'),
        ToolResultEntry("a", "one"),
        AssistantTextEntry("done"),
    ]
    assert recording.messages == (0, 1, 2, 2, 2, 2, 3, 4)


def test_a_list_and_lines_read_like_the_object() -> None:
    """The messages alone are enough, in a list or one a line."""
    messages = [{"role": "assistant", "content": [CALL]}, answer("one")]

    assert recorded(messages).format == recorded_lines(messages).format == "anthropic"
    assert loaded(messages) == recorded_lines(messages).entries == loaded({"messages": messages})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (answer("x", is_error=True), [ToolResultEntry("a", "x", is_error=True)]),
        (answer(None), [ToolResultEntry("a", "")]),
        (
            answer(
                [
                    {"type": "text", "text": "x"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "QUI="},
                    },
                    {"type": "text", "text": "y"},
                ]
            ),
            [ToolResultEntry("a", "x\ny", parts=[ImagePart(data="QUI=", mime_type="image/png")])],
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "x"},
                    {"type": "text", "text": "and now"},
                    {"type": "image", "source": {"type": "url", "url": "u"}},
                    {"type": "tool_result", "tool_use_id": "b", "content": "y"},
                ],
            },
            [
                ToolResultEntry("a", "x"),
                InputEntry("user", [TextPart("and now"), ImagePart(url="u")]),
                ToolResultEntry("b", "y"),
            ],
        ),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "document",
                        "title": "t",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": "QUI=",
                        },
                    },
                    {"type": "document", "source": {"type": "text", "data": "plain"}},
                    {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                ],
            },
            [
                InputEntry(
                    "user",
                    [
                        FilePart(data="QUI=", mime_type="application/pdf", filename="t"),
                        TextPart("plain"),
                        FilePart(url="file-id:file_1"),
                    ],
                )
            ],
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                    {
                        "type": "web_search_tool_result",
                        "tool_use_id": "s",
                        "content": [{"type": "web_search_result", "url": "u"}],
                    },
                    {"type": "text", "text": "found"},
                ],
            },
            [
                ToolCallEntry("s", "web_search", "{}"),
                ToolResultEntry("s", '[{"type": "web_search_result", "url": "u"}]'),
                AssistantTextEntry("found"),
            ],
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "web_search_tool_result",
                        "tool_use_id": "s",
                        "content": {"type": "web_search_tool_result_error", "error_code": "x"},
                    }
                ],
            },
            [
                ToolResultEntry(
                    "s",
                    '{"type": "web_search_tool_result_error", "error_code": "x"}',
                    is_error=True,
                )
            ],
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "mcp_tool_result",
                        "tool_use_id": "m",
                        "content": [{"type": "text", "text": "x"}],
                    }
                ],
            },
            [ToolResultEntry("m", "x")],
        ),
        ({"role": "assistant", "content": []}, [AssistantTextEntry("")]),
        (
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "", "signature": ""}],
            },
            [ReasoningEntry("", provider="anthropic")],
        ),
    ],
)
def test_each_kind_of_block(message: dict[str, Any], expected: list[TranscriptEntry]) -> None:
    """Every block keeps its content and its place."""
    assert loaded([{"role": "assistant", "content": [CALL]}, message])[1:] == expected


@pytest.mark.parametrize(
    ("message", "position"),
    [
        ({"role": "tool"}, "[1].role"),
        ({"role": "assistant", "content": [{"type": "tool_use"}]}, "[1].content[0].name"),
        ({"role": "assistant", "content": [{"text": "x"}]}, "[1].content[0].type"),
        (answer(7), "[1].content[0].content"),
        (answer([{"type": "image", "source": {}}]), "[1].content[0].content[0]"),
        (answer("x", is_error="yes"), "[1].content[0].is_error"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(message: Any, position: str) -> None:
    """The error leads to the value that is wrong."""
    messages = [{"role": "assistant", "content": [CALL]}, message]

    with pytest.raises(TranscriptFormatError) as caught:
        loaded(messages, "anthropic")

    assert caught.value.position == position
