"""Responses items become entries, items of the vendor's own tools included."""

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

USER = {"role": "user", "content": "hello"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "a", "output": "one"}


def test_a_conversation_of_items() -> None:
    """Messages, thoughts, calls and results become entries; a model's run of items is a message."""
    items = [
        {"type": "message", "role": "developer", "content": "be brief"},
        USER,
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": "hm"},
                {"type": "summary_text", "text": "so"},
            ],
            "encrypted_content": "secret",
        },
        CALL,
        RESULT,
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        },
    ]

    recording = recorded(items)

    assert recording.format == "openai-responses"
    assert recording.entries == [
        InputEntry("developer", "be brief"),
        InputEntry("user", "hello"),
        ReasoningEntry("hm\n\nso", id="rs_1", provider="openai", signature="secret"),
        ToolCallEntry("a", "f", "{}"),
        ToolResultEntry("a", "one"),
        AssistantTextEntry("done", id="msg_1"),
    ]
    assert recording.messages == (0, 1, 2, 2, 3, 4)
    assert recorded_lines(items).entries == recording.entries


def test_a_request_with_its_response() -> None:
    """Instructions, ``input`` and ``output`` of one object follow each other."""
    document = {"instructions": "be brief", "input": "hello", "output": [CALL]}

    recording = recorded(document)

    assert recording.format == "openai-responses"
    assert recording.entries == [
        InputEntry("system", "be brief"),
        InputEntry("user", "hello"),
        ToolCallEntry("a", "f", "{}"),
    ]
    assert loaded({"object": "response", "input": None, "output": [CALL]}) == [
        ToolCallEntry("a", "f", "{}")
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
            [ReasoningEntry("", id="r", provider="openai", signature="x")],
        ),
        (
            {
                "type": "reasoning",
                "summary": None,
                "content": [{"type": "reasoning_text", "text": "hm"}],
            },
            [ReasoningEntry("hm", provider="openai")],
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "t"},
                    {"type": "input_image", "image_url": "data:image/png;base64,QUI="},
                    {"type": "input_image", "file_id": "file-1", "detail": "high"},
                    {"type": "input_file", "file_url": "u", "filename": "f"},
                ],
            },
            [
                InputEntry(
                    "user",
                    [
                        TextPart("t"),
                        ImagePart(data="QUI=", mime_type="image/png"),
                        ImagePart(url="file-id:file-1", detail="high"),
                        FilePart(url="u", filename="f"),
                    ],
                )
            ],
        ),
        (
            {"type": "message", "role": "assistant", "content": []},
            [AssistantTextEntry("")],
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [
                    {"type": "input_text", "text": "x"},
                    {"type": "input_image", "image_url": "u"},
                ],
            },
            [ToolResultEntry("a", "x", parts=[ImagePart(url="u")])],
        ),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"},
            [ToolCallEntry("a", "f", "x")],
        ),
        ({"type": "custom_tool_call_output", "call_id": "a"}, [ToolResultEntry("a", "")]),
        (
            {"type": "local_shell_call", "id": "i", "call_id": "a", "action": {"command": ["ls"]}},
            [ToolCallEntry("a", "local_shell", '{"action": {"command": ["ls"]}}')],
        ),
        (
            {"type": "computer_call_output", "call_id": "a", "output": {"image_url": "u"}},
            [ToolResultEntry("a", '{"image_url": "u"}')],
        ),
        (
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "q"}},
            [
                ToolCallEntry("w", "web_search", '{"action": {"query": "q"}}'),
                ToolResultEntry("w", "completed"),
            ],
        ),
        (
            {
                "type": "mcp_call",
                "id": "m",
                "name": "f",
                "arguments": "{}",
                "output": None,
                "error": "bad",
            },
            [ToolCallEntry("m", "f", "{}"), ToolResultEntry("m", "bad", is_error=True)],
        ),
        (
            {"type": "file_search_call", "id": "s", "queries": ["q"], "results": [{"text": "t"}]},
            [
                ToolCallEntry("s", "file_search", '{"queries": ["q"]}'),
                ToolResultEntry("s", '[{"text": "t"}]'),
            ],
        ),
    ],
)
def test_each_kind_of_item(item: dict[str, Any], expected: list[TranscriptEntry]) -> None:
    """Every kind of item keeps what was said; a hosted tool's item is a call with its result."""
    assert loaded([CALL, RESULT, item])[2:] == expected


def test_an_item_of_another_kind_is_kept_as_json_and_noted() -> None:
    """Nothing is dropped silently."""
    recording = recorded([CALL, RESULT, {"type": "item_reference", "id": "i"}])

    assert recording.entries[2] == AssistantTextEntry('{"type": "item_reference", "id": "i"}')
    assert [note.position for note in recording.notes] == ["[2]"]


@pytest.mark.parametrize(
    ("document", "position"),
    [
        ([CALL, 7], "[1]"),
        ([CALL, {"type": "message", "role": "boss"}], "[1].role"),
        ([CALL, {"type": "function_call", "call_id": "a"}], "[1].name"),
        ([CALL, {"type": "reasoning", "summary": "text"}], "[1].summary"),
        ([CALL, {"type": "reasoning", "summary": [{"text": 7}]}], "[1].summary[0].text"),
        ({"input": 7, "output": [CALL]}, "input"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(document: Any, position: str) -> None:
    """The error leads to the value that is wrong."""
    with pytest.raises(TranscriptFormatError) as caught:
        loaded(document)

    assert caught.value.position == position
