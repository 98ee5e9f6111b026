"""Any file is a transcript or a format error: hostile, mutated and mislabelled ones included."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.errors import TranscriptFormatError
from lovia.transcript import (
    AssistantTextEntry,
    InputEntry,
    ToolCallEntry,
    entries_from_json,
    entries_to_json,
    format_names,
    load_transcript,
)
from lovia.transcript.digest import PrefixChain
from lovia.transcript.facts import summarize_transcript
from lovia.transcript.formats import Recording, read_recording
from lovia.transcript.problems import find_problems
from tests.transcript.strategies import json_values

if TYPE_CHECKING:
    from pathlib import Path

# The words of all formats, so that random values get past the first checks.
KEYS = (
    *("role", "content", "type", "text", "messages", "message", "input", "output", "system"),
    *("tool_calls", "tool_call_id", "tool_call_ids", "function", "function_call", "name", "id"),
    *("arguments", "args", "call_id", "summary", "traj", "trajectory", "history", "payload"),
    *("kwargs", "data", "values", "entries", "image_url", "url", "source", "file", "parentId"),
    *("reasoning_content", "reasoning_details", "thinking_blocks", "metadata", "parts", "is_error"),
    *("additional_kwargs", "invalid_tool_calls", "encrypted_content", "tool_use_id", "isSidechain"),
)
WORDS = (
    *("user", "assistant", "system", "developer", "tool", "function", "human", "ai", "toolResult"),
    *("text", "image", "image_url", "document", "thinking", "redacted_thinking", "tool_use"),
    *("tool_result", "web_search_tool_result", "message", "function_call", "function_call_output"),
    *("reasoning", "web_search_call", "response_item", "constructor", "input", "assistant_text"),
    *("tool_call", "session", "bashExecution", "custom_message", "input_audio", "data:a;base64,QQ"),
)
words = st.sampled_from(WORDS)
vocabulary = st.recursive(
    words | json_values,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS), inner | words, max_size=5)
    ),
    max_leaves=25,
)

# One document of each format, small and complete; mutations of them reach deep into the readers.
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}, "x"]},
    {"role": "assistant", "content": None, "reasoning_content": "r", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
]
BLOCKS = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "tool_use", "id": "a", "name": "f", "input": {}},
]
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}
MESSAGES = [{"role": "assistant", "content": BLOCKS}, {"role": "user", "content": [RESULT]}]
ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {
        "type": "function_call_output",
        "call_id": "a",
        "output": [{"type": "input_text", "text": ""}],
    },
    {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
]
PI_CALL = {"type": "toolCall", "id": "a", "name": "f", "arguments": {"x": 1}}
EXAMPLES: dict[str, Any] = {
    "openai-chat": CHAT,
    "anthropic": {"system": "s", "messages": MESSAGES},
    "openai-responses": {"input": ITEMS, "output": ITEMS},
    "pi": [
        {"type": "message", "message": {"role": "assistant", "content": [PI_CALL]}},
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "a", "content": []}},
        {"type": "message", "message": {"role": "bashExecution", "command": "ls"}},
    ],
    "claude-code": [
        {"type": "assistant", "message": MESSAGES[0]},
        {"type": "user", "message": MESSAGES[1], "isSidechain": False},
    ],
    "codex": [{"type": "response_item", "payload": item} for item in ITEMS],
    "swe-agent": {"trajectory": [], "history": [*CHAT, {"role": "tool", "tool_call_ids": ["a"]}]},
    "tau-bench": {"traj": CHAT},
    "langchain": [
        {"type": "human", "content": "hello"},
        {"type": "ai", "data": {"content": BLOCKS, "tool_calls": [{"name": "f", "args": {}}]}},
        {"type": "constructor", "id": ["x", "ToolMessage"], "kwargs": {"content": "one"}},
    ],
    "lovia": [
        {"type": "input", "role": "user", "content": [{"type": "image", "url": "u"}]},
        {"type": "reasoning", "content": "hm", "metadata": {"a": 1}},
        {"type": "tool_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "tool_result", "call_id": "a", "output": "x", "parts": []},
    ],
}
formats = st.sampled_from([None, *format_names()])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container inside a value together with each of its keys or indices."""
    found: list[tuple[Any, Any]] = []
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            found += places(value[key])
    return found


def read_or_refuse(data: bytes, format: str | None) -> None:
    """Load, and use what was loaded; refuse with a format error that can be printed."""
    try:
        recording = read_recording(data, format)
    except TranscriptFormatError as error:
        refusal = error
    else:
        check_usable(recording)
        return
    str(refusal).encode()
    assert refusal.source
    assert refusal.expected
    assert refusal.hint


def check_usable(recording: Recording) -> None:
    """Check that what was loaded can be saved, digested and looked at."""
    assert recording.entries
    assert len(recording.entries) == len(recording.messages)
    assert list(recording.messages) == sorted(recording.messages)
    back = entries_from_json(entries_to_json(recording.entries))
    assert back == recording.entries
    assert PrefixChain(back).value() == PrefixChain(recording.entries).value()
    find_problems(recording.entries, messages=recording.messages)
    summarize_transcript(recording.entries)


@given(vocabulary, formats)
def test_any_json_is_a_transcript_or_a_format_error(value: Any, format: str | None) -> None:
    """Whatever JSON a file holds, and whatever it is said to be, no other error comes out."""
    read_or_refuse(json.dumps(value).encode(), format)
    read_or_refuse(json.dumps([value, value]).encode(), format)
    read_or_refuse(f"{json.dumps({'type': value})}\n{json.dumps(value)}".encode(), format)


@given(st.data(), st.sampled_from(sorted(EXAMPLES)))
def test_a_mutated_document_is_a_transcript_or_a_format_error(
    data: st.DataObject, name: str
) -> None:
    """Values replaced, removed and exchanged deep inside never lead to another error."""
    document = copy.deepcopy(EXAMPLES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(document)))
        if isinstance(container, dict) and data.draw(st.booleans()):
            container.pop(key)
        else:
            container[key] = data.draw(vocabulary)
        if not places(document):
            break
    text = json.dumps(document)

    for format in (None, name):
        read_or_refuse(text.encode(), format)
        read_or_refuse(text[: data.draw(st.integers(0, len(text)))].encode(), format)


@given(st.binary(max_size=60), formats)
def test_any_bytes_are_a_transcript_or_a_format_error(data: bytes, format: str | None) -> None:
    """Binary data is refused like anything else that is no transcript."""
    read_or_refuse(data, format)


@pytest.mark.parametrize("name", format_names())
def test_each_format_is_detected_by_content(name: str, tmp_path: Path) -> None:
    """The name of the file has no say, and naming the format gives the same entries."""
    path = tmp_path / "transcript.bin"
    path.write_text(json.dumps(EXAMPLES[name]), encoding="utf-8")

    recording = read_recording(path)

    assert recording.format == name
    assert recording.source == str(path)
    assert load_transcript(path, name) == load_transcript(str(path)) == recording.entries
    assert load_transcript(path, name.replace("-", "_")) == recording.entries


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        7,
        "text",
        [7],
        [[]],
        {"messages": []},
        {"messages": 7},
        [{"message": 1, "prompt_tokens": 2775}],
        {"traj": 7},
    ],
    ids=repr,
)
def test_json_that_is_no_transcript_is_refused(value: Any) -> None:
    """The error lists the formats that would have been read."""
    with pytest.raises(TranscriptFormatError) as caught:
        load_transcript(json.dumps(value).encode())

    assert caught.value.expected is not None
    assert "openai-chat" in caught.value.expected


def test_a_format_that_does_not_exist_is_refused() -> None:
    """The error names the formats that exist."""
    with pytest.raises(TranscriptFormatError, match="named 'yaml'") as caught:
        load_transcript(json.dumps(CHAT).encode(), "yaml")

    assert all(name in str(caught.value.hint) for name in format_names())


@pytest.mark.parametrize("name", ["lovia", "openai-chat", "codex"])
def test_a_transcript_without_messages_is_refused(name: str) -> None:
    """Nothing was said: that is worth an error, not an empty result."""
    with pytest.raises(TranscriptFormatError, match="holds no messages"):
        load_transcript(b"[]", name)


def test_values_nested_too_deeply_are_refused() -> None:
    """A value that parses, but is nested deeper than an entry can take it over, is refused."""
    deep: Any = 1
    for _ in range(800):
        deep = [deep]
    message = {"role": "assistant", "content": "x", "reasoning_details": [deep]}

    with pytest.raises(TranscriptFormatError, match="nested too deeply"):
        load_transcript(json.dumps([CHAT[0], message]).encode())


def test_deeply_nested_arguments_are_kept_as_text() -> None:
    """Arguments become text, which takes any depth that the file's JSON has."""
    deep = "[" * 800 + "]" * 800
    message = f'{{"role": "assistant", "tool_calls": [{{"name": "f", "args": {deep}}}]}}'

    assert load_transcript(message.encode()) == [ToolCallEntry("", "f", deep)]


def test_mixed_vocabularies_are_read_by_one_reader() -> None:
    """Blocks of one vendor inside messages of another are understood."""
    messages = [{"role": "system", "content": "s"}, *MESSAGES]

    entries = load_transcript(json.dumps(messages).encode(), "openai-chat")

    assert entries[0] == InputEntry("system", "s")
    assert [entry.type for entry in entries[1:]] == ["reasoning", "tool_call", "tool_result"]


def test_a_single_message_is_a_transcript() -> None:
    """One object that is a message is a conversation of one."""
    assert load_transcript(b'{"role": "assistant", "content": "hi"}') == [AssistantTextEntry("hi")]
