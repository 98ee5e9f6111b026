"""LangChain messages in their three wrappings, and the states of LangGraph threads."""

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
    TranscriptEntry,
)
from tests.transcript.formats.loaded import loaded, recorded

CALL = {"name": "f", "args": {"q": "é"}, "id": "a", "type": "tool_call"}
FIELDS: list[tuple[str, str, dict[str, Any]]] = [
    ("SystemMessage", "system", {"content": "be brief"}),
    ("HumanMessage", "human", {"content": "hello"}),
    (
        "AIMessage",
        "ai",
        {
            "content": [
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"q": "é"}},
            ],
            "tool_calls": [CALL],
            "additional_kwargs": {"reasoning_content": "hm"},
        },
    ),
    ("ToolMessage", "tool", {"content": "one", "tool_call_id": "a", "status": "error"}),
]
ENTRIES: list[TranscriptEntry] = [
    InputEntry("system", "be brief"),
    InputEntry("user", "hello"),
    ReasoningEntry("hm"),
    AssistantTextEntry("let me see"),
    ToolCallEntry("a", "f", '{"q": "é"}'),
    ToolResultEntry("a", "one", is_error=True),
]


def constructor(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a message as a serialised constructor."""
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}


PLAIN = [{"type": kind, **fields} for _, kind, fields in FIELDS]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param([constructor(name, fields) for name, _, fields in FIELDS], id="by class"),
        pytest.param(
            [constructor(name, {"type": kind, **fields}) for name, kind, fields in FIELDS],
            id="by type",
        ),
        pytest.param(
            [{"type": kind, "data": fields} for _, kind, fields in FIELDS], id="messages_to_dict"
        ),
        pytest.param(PLAIN, id="plain"),
        pytest.param({"messages": PLAIN}, id="object"),
        pytest.param({"values": {"messages": PLAIN}, "next": []}, id="thread"),
    ],
)
def test_every_wrapping_holds_the_same_messages(document: Any) -> None:
    """However messages are wrapped, they become the same entries, and a call is read once."""
    recording = recorded(document)

    assert recording.format == "langchain"
    assert recording.entries == ENTRIES


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {
                "type": "ai",
                "content": "",
                "tool_calls": [],
                "invalid_tool_calls": [{"name": "f", "args": "{", "id": "a", "error": "bad"}],
            },
            [ToolCallEntry("a", "f", "{")],
        ),
        (
            {
                "type": "ai",
                "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
            },
            [ToolCallEntry("a", "f", "{}")],
        ),
        (
            {"type": "ai", "content": [{"type": "reasoning", "reasoning": "hm"}]},
            [ReasoningEntry("hm")],
        ),
        ({"type": "ai", "content": ""}, [AssistantTextEntry("")]),
        ({"type": "function", "name": "f", "content": "x"}, [ToolResultEntry("f", "x")]),
        (
            constructor("AIMessageChunk", {"type": "AIMessageChunk", "content": "x"}),
            [AssistantTextEntry("x")],
        ),
    ],
)
def test_variants_of_messages(message: dict[str, Any], expected: list[TranscriptEntry]) -> None:
    """Broken calls, calls in the content only and chunks are read too."""
    assert loaded([PLAIN[0], message])[1:] == expected


@pytest.mark.parametrize(
    ("message", "position"),
    [
        (7, "[1]"),
        ({"type": "boss", "content": ""}, "[1].type"),
        (constructor("PromptTemplate", {"content": ""}), "[1].id"),
        ({"lc": 1, "type": "constructor", "id": 7, "kwargs": {}}, "[1].id"),
        ({"type": "ai", "content": "", "tool_calls": [{"name": 7}]}, "[1].tool_calls[0].name"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(message: Any, position: str) -> None:
    """The error leads to the value that is wrong."""
    with pytest.raises(TranscriptFormatError) as caught:
        loaded([PLAIN[0], message])

    assert caught.value.position == position
