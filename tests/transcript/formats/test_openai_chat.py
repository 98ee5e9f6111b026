"""Chat Completions messages in all their variants become entries, without loss."""

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


def function(call_id: Any, name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    """Return a tool call as the API writes it."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def test_a_conversation_with_tools() -> None:
    """Roles, thought, text, parallel calls and results become entries in the order of making."""
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": "and kind"},
        USER,
        {
            "role": "assistant",
            "content": "let me see",
            "reasoning_content": "hm",
            "tool_calls": [function("a"), function("b", arguments='{"q": "é"}')],
        },
        {"role": "tool", "tool_call_id": "b", "content": "two"},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "assistant", "content": "done"},
    ]

    recording = recorded(messages)

    assert recording.format == "openai-chat"
    assert recording.entries == [
        InputEntry("system", "be brief"),
        InputEntry("developer", "and kind"),
        InputEntry("user", "hello"),
        ReasoningEntry("hm"),
        AssistantTextEntry("let me see"),
        ToolCallEntry("a", "f", "{}"),
        ToolCallEntry("b", "f", '{"q": "é"}'),
        ToolResultEntry("b", "two"),
        ToolResultEntry("a", "one"),
        AssistantTextEntry("done"),
    ]
    assert recording.messages == (0, 1, 2, 3, 3, 3, 3, 4, 5, 6)
    assert recording.notes == ()


def test_the_three_outer_shapes_hold_the_same_messages() -> None:
    """A list, an object with ``messages`` and one message a line read alike."""
    messages = [USER, {"role": "assistant", "content": "hi"}]

    for recording in (
        recorded(messages),
        recorded({"model": "m", "messages": messages, "tools": []}),
        recorded_lines(messages),
    ):
        assert recording.format == "openai-chat"
        assert recording.entries == [InputEntry("user", "hello"), AssistantTextEntry("hi")]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "t"}, TextPart("t")),
        ("bare", TextPart("bare")),
        ({"type": "image_url", "image_url": {"url": "https://x/y"}}, ImagePart(url="https://x/y")),
        ({"type": "image_url", "image_url": "https://x/y"}, ImagePart(url="https://x/y")),
        (
            {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64,QUI=", "detail": "low"},
            },
            ImagePart(data="QUI=", mime_type="image/png", detail="low"),
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:;base64,QUI=", "detail": "original"}},
            ImagePart(data="QUI="),
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:text/html,plain"}},
            ImagePart(url="data:text/html,plain"),
        ),
        (
            {"type": "file", "file": {"file_data": "data:a/b;x=y;base64,QUI=", "filename": "f"}},
            FilePart(data="QUI=", mime_type="a/b", filename="f"),
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, FilePart(url="file-id:file-1")),
        (
            {"type": "input_audio", "input_audio": {"data": "QUI=", "format": "mp3"}},
            FilePart(data="QUI=", mime_type="audio/mp3"),
        ),
    ],
)
def test_content_parts(part: Any, expected: Any) -> None:
    """Texts, images, files and sounds become parts; base64 in an address becomes data."""
    messages = [{"role": "user", "content": [part]}]

    assert loaded(messages, "openai-chat") == [InputEntry("user", [expected])]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": None}, [AssistantTextEntry("")]),
        ({"content": ""}, [AssistantTextEntry("")]),
        ({}, [AssistantTextEntry("")]),
        ({"content": []}, [AssistantTextEntry("")]),
        ({"content": "", "tool_calls": []}, [AssistantTextEntry("")]),
        ({"content": None, "refusal": "no"}, [AssistantTextEntry("no")]),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, [AssistantTextEntry("no")]),
        ({"audio": {"id": "x", "transcript": "said"}}, [AssistantTextEntry("said")]),
        ({"content": "a", "reasoning": "r"}, [ReasoningEntry("r"), AssistantTextEntry("a")]),
        ({"content": "a", "thinking": "r"}, [ReasoningEntry("r"), AssistantTextEntry("a")]),
        ({"content": "a", "reasoning_content": ""}, [AssistantTextEntry("a")]),
        (
            {"reasoning": "r", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
            [
                ReasoningEntry(
                    "r",
                    metadata={"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
                )
            ],
        ),
        (
            {
                "content": "a",
                "reasoning_content": "hm",
                "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            },
            [
                ReasoningEntry("hm", provider="anthropic", signature="s"),
                AssistantTextEntry("a"),
            ],
        ),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            [AssistantTextEntry("a"), AssistantTextEntry("b")],
        ),
        ({"tool_calls": [function(17)]}, [ToolCallEntry("17", "f", "{}")]),
        ({"tool_calls": [function(None)]}, [ToolCallEntry("", "f", "{}")]),
        ({"tool_calls": [function("a", arguments=None)]}, [ToolCallEntry("a", "f", "")]),
        ({"tool_calls": [function("a", arguments='{"q": ')]}, [ToolCallEntry("a", "f", '{"q": ')]),
        (
            {"tool_calls": [function("a", arguments={"q": "é", "n": 1})]},
            [ToolCallEntry("a", "f", '{"q": "é", "n": 1}')],
        ),
        (
            {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}]},
            [ToolCallEntry("a", "f", "x")],
        ),
        ({"tool_calls": [{"name": "f", "args": {}}]}, [ToolCallEntry("", "f", "{}")]),
        ({"function_call": {"name": "f", "arguments": "{}"}}, [ToolCallEntry("f", "f", "{}")]),
    ],
)
def test_model_messages(message: dict[str, Any], expected: list[TranscriptEntry]) -> None:
    """Every variant of a model message keeps all it says; an empty one leaves an empty text."""
    assert loaded([USER, {"role": "assistant", **message}])[1:] == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, ToolResultEntry("a", "x")),
        ({"role": "tool", "tool_call_id": 17, "content": "x"}, ToolResultEntry("17", "x")),
        ({"role": "tool", "content": None}, ToolResultEntry("", "")),
        ({"role": "tool", "tool_name": "f", "content": "x"}, ToolResultEntry("", "x")),
        ({"role": "function", "name": "f", "content": "x"}, ToolResultEntry("f", "x")),
        (
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image_url", "image_url": {"url": "u"}},
                    {"type": "text", "text": "y"},
                ],
            },
            ToolResultEntry("a", "x\ny", parts=[ImagePart(url="u")]),
        ),
    ],
)
def test_tool_messages(message: dict[str, Any], expected: ToolResultEntry) -> None:
    """Results keep their id, as far as they have one, their text and their images."""
    assert loaded([USER, message])[1:] == [expected]


def test_histories_that_a_provider_would_refuse_load_as_they_are() -> None:
    """Results before or without calls, repeated ids and unanswered calls stay where they stand."""
    messages = [
        {"role": "tool", "tool_call_id": "a", "content": "early"},
        USER,
        {"role": "assistant", "tool_calls": [function("a"), function("a")]},
        {"role": "assistant", "tool_calls": [function("a")]},
        {"role": "tool", "tool_call_id": "z", "content": "lost"},
        USER,
    ]

    assert loaded(messages) == [
        ToolResultEntry("a", "early"),
        InputEntry("user", "hello"),
        ToolCallEntry("a", "f", "{}"),
        ToolCallEntry("a", "f", "{}"),
        ToolCallEntry("a", "f", "{}"),
        ToolResultEntry("z", "lost"),
        InputEntry("user", "hello"),
    ]


def test_a_block_that_no_entry_holds_is_kept_as_json_and_noted() -> None:
    """Nothing is dropped silently: the text is there, and a note says where it was."""
    recording = recorded([{"role": "user", "content": [{"type": "hologram", "beam": 1}]}])

    assert recording.entries == [InputEntry("user", [TextPart('{"type": "hologram", "beam": 1}')])]
    assert [note.position for note in recording.notes] == ["[0].content[0]"]


def test_an_image_in_a_model_message_is_kept_as_json_and_noted() -> None:
    """A model's entry holds text only; an image that it made is kept all the same."""
    image = {"type": "image_url", "image_url": {"url": "u"}}

    recording = recorded([USER, {"role": "assistant", "content": [image]}])

    assert recording.entries[1] == AssistantTextEntry(
        '{"type": "image_url", "image_url": {"url": "u"}}'
    )
    assert len(recording.notes) == 1


@pytest.mark.parametrize(
    ("message", "position"),
    [
        (7, "[1]"),
        ({"role": "boss"}, "[1].role"),
        ({"role": "user", "content": {"type": "text"}}, "[1].content"),
        ({"role": "user", "content": [7]}, "[1].content[0]"),
        ({"role": "user", "content": [{"type": "text", "text": 7}]}, "[1].content[0].text"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "[1].content[0]"),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": 7}}]},
            "[1].content[0].image_url.url",
        ),
        ({"role": "assistant", "tool_calls": {}}, "[1].tool_calls"),
        ({"role": "assistant", "tool_calls": [7]}, "[1].tool_calls[0]"),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": None}}]},
            "[1].tool_calls[0].function.name",
        ),
        ({"role": "tool", "tool_call_id": ["a"], "content": ""}, "[1].tool_call_id"),
        ({"role": "function", "content": ""}, "[1].name"),
    ],
)
def test_a_wrong_type_deep_inside_is_named(message: Any, position: str) -> None:
    """The error leads to the value that is wrong."""
    with pytest.raises(TranscriptFormatError) as caught:
        loaded([USER, message])

    assert caught.value.position == position


def test_arguments_of_a_megabyte_and_a_half_are_kept() -> None:
    """Size is no reason to lose anything."""
    arguments = '{"image": "' + "A" * 1_500_000 + '"}'

    entries = loaded([USER, {"role": "assistant", "tool_calls": [function("a", "f", arguments)]}])

    assert entries[1] == ToolCallEntry("a", "f", arguments)
