"""Entries survive being written as JSON, and damage is reported with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from lovia.errors import TranscriptFormatError, UserError
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
    entries_from_json,
    entries_to_json,
)
from lovia.transcript.codec import entry_from_dict, entry_to_dict, read_jsonl, write_jsonl
from lovia.transcript.digest import digest
from tests.transcript.strategies import entries, json_values, transcripts

SPLIT_PAIR = "\ud83d" + "\ude00"  # two halves that never were one character


@given(transcripts)
def test_json_keeps_every_field_of_every_entry(transcript: list[TranscriptEntry]) -> None:
    """Entries come back equal, with equal digests, from JSON that is plain ASCII."""
    text = entries_to_json(transcript)

    back = entries_from_json(text)

    assert text.isascii()
    assert back == transcript
    assert [digest(entry) for entry in back] == [digest(entry) for entry in transcript]


@given(transcripts)
def test_json_lines_keep_every_field_of_every_entry(transcript: list[TranscriptEntry]) -> None:
    """One line an entry, ended by a line feed; bytes and text read back alike."""
    lines = list(write_jsonl(transcript))

    assert all(line.isascii() and line.count("\n") == 1 for line in lines)
    assert list(read_jsonl(lines)) == transcript
    assert list(read_jsonl("".join(lines).encode().splitlines())) == transcript


@given(entries)
def test_a_dictionary_can_be_written_by_any_json_writer(entry: TranscriptEntry) -> None:
    """The dictionary form survives a writer that escapes nothing, as far as its text encodes."""
    saved = json.loads(json.dumps(entry_to_dict(entry), sort_keys=True, ensure_ascii=False))

    assert entry_from_dict(saved) == entry


def test_halves_of_a_pair_stay_two_characters() -> None:
    """JSON would read two adjacent halves as one character; they are written as two pieces."""
    entry = ToolResultEntry("c", f"a{SPLIT_PAIR}b")

    saved = entry_to_dict(entry)

    assert saved["output"] == ["a\ud83d", "\ude00b"]
    assert entry_from_dict(json.loads(json.dumps(saved))) == entry


def test_a_real_character_outside_the_basic_plane_is_written_as_text() -> None:
    """Only split halves need pieces; a whole emoji is an ordinary text."""
    assert entry_to_dict(AssistantTextEntry("😀"))["content"] == "😀"


def test_split_halves_in_metadata_survive() -> None:
    """Metadata with split halves is kept as pieces of its JSON text."""
    entry = ReasoningEntry("", metadata={SPLIT_PAIR: [SPLIT_PAIR, 1.5, None]})

    assert entries_from_json(entries_to_json([entry])) == [entry]


@pytest.mark.parametrize(
    ("entry", "saved"),
    [
        (InputEntry("user", "hi"), {"type": "input", "role": "user", "content": "hi"}),
        (AssistantTextEntry(""), {"type": "assistant_text", "content": ""}),
        (ReasoningEntry("so"), {"type": "reasoning", "content": "so"}),
        (
            ToolCallEntry("", "f", ""),
            {"type": "tool_call", "call_id": "", "name": "f", "arguments": ""},
        ),
        (ToolResultEntry("c", ""), {"type": "tool_result", "call_id": "c", "output": ""}),
        (
            InputEntry("user", [ImagePart(url="u", detail="low"), FilePart(data="d")], "summary"),
            {
                "type": "input",
                "role": "user",
                "content": [
                    {"type": "image", "url": "u", "detail": "low"},
                    {"type": "file", "data": "d"},
                ],
                "origin": "summary",
            },
        ),
        (
            ToolResultEntry("c", "", is_error=True, parts=[TextPart("t")], origin="placeholder"),
            {
                "type": "tool_result",
                "call_id": "c",
                "output": "",
                "is_error": True,
                "parts": [{"type": "text", "text": "t"}],
                "origin": "placeholder",
            },
        ),
    ],
    ids=lambda value: value.type if not isinstance(value, dict) else "",
)
def test_the_saved_form_leaves_defaults_out(entry: TranscriptEntry, saved: dict[str, Any]) -> None:
    """A saved entry holds its type, what it must have, and what differs from the default."""
    assert entry_to_dict(entry) == saved
    assert next(iter(entry_to_dict(entry))) == "type"
    assert entry_from_dict(saved) == entry


@pytest.mark.parametrize("text", ["", "conversation", "summary"])
def test_a_text_that_looks_like_a_default_is_kept(text: str) -> None:
    """Only a field's own default is left out, not what happens to be the default of another."""
    for entry in (
        AssistantTextEntry(text, id=text),
        ReasoningEntry(text, id=text, provider=text, signature=text),
        InputEntry("user", [ImagePart(url=text)]),
    ):
        assert entry_from_dict(entry_to_dict(entry)) == entry


def test_fields_of_a_later_version_are_passed_over() -> None:
    """A field that this version does not know is no error."""
    saved = {"type": "assistant_text", "content": "hi", "mood": {"new": True}}

    assert entry_from_dict(saved) == AssistantTextEntry("hi")


@pytest.mark.parametrize(
    ("value", "position", "expected"),
    [
        ({}, None, "a list of entries"),
        ([1], "[0]", "an entry"),
        ([{"type": "later"}], "[0].type", "one of input, assistant_text"),
        ([{}], "[0].type", "one of"),
        ([{"type": "input", "role": "boss", "content": ""}], "[0].role", "one of system"),
        ([{"type": "input", "role": "user"}], "[0].content", "text or a list of parts"),
        (
            [{"type": "input", "role": "user", "content": [{"type": "film"}]}],
            "[0].content[0].type",
            "one of text, image, file",
        ),
        (
            [{"type": "input", "role": "user", "content": ["a", 1]}],
            "[0].content[1]",
            "text",
        ),
        (
            [{"type": "input", "role": "user", "content": [{"type": "image", "detail": "x"}]}],
            "[0].content[0].detail",
            "one of auto",
        ),
        ([{"type": "assistant_text", "content": 7}], "[0].content", "text"),
        ([{"type": "reasoning", "content": "", "metadata": "x"}], "[0].metadata", "an object"),
        ([{"type": "reasoning", "content": "", "metadata": ["{"]}], "[0].metadata", "JSON"),
        ([{"type": "tool_call", "call_id": 1, "name": "f"}], "[0].call_id", "text"),
        (
            [{"type": "tool_result", "call_id": "", "output": "", "is_error": "no"}],
            "[0].is_error",
            "true or false",
        ),
        (
            [{"type": "tool_result", "call_id": "", "output": "", "origin": "x"}],
            "[0].origin",
            "one of conversation",
        ),
    ],
)
def test_damage_is_reported_with_its_place(value: Any, position: str | None, expected: str) -> None:
    """What is no entry is a format error that names the place and what was expected."""
    with pytest.raises(TranscriptFormatError) as caught:
        entries_from_json(json.dumps(value))

    error = caught.value
    assert (error.position or "").startswith(position or "")
    assert error.expected is not None
    assert error.expected.startswith(expected)
    assert error.hint


@pytest.mark.parametrize("line", ["{", '{"type": "input"}', "[]", "nonsense", b"\xff\xfe{}"])
def test_a_damaged_line_is_named(line: str | bytes) -> None:
    """Lines count from 1 with blank lines counted, and those before the damage were yielded."""
    reading = read_jsonl(
        [*write_jsonl([AssistantTextEntry("fine")]), "\n", line], source="saved.jsonl"
    )

    assert next(reading) == AssistantTextEntry("fine")
    with pytest.raises(TranscriptFormatError, match=r"^saved\.jsonl: line 3") as caught:
        next(reading)
    assert caught.value.source == "saved.jsonl"


@given(json_values)
def test_any_json_is_entries_or_a_format_error(value: Any) -> None:
    """Reading whatever JSON there is raises no error of another class."""
    for candidate in (value, [value], [{"type": "input", "role": "user", "content": value}]):
        try:
            entries_from_json(json.dumps(candidate))
        except TranscriptFormatError as error:
            str(error).encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        '[{"type": "reasoning", "content": "", "metadata": {"a": ' + "[" * 600 + "]" * 600 + "}}]",
        "[" + "9" * 5000 + "]",
        b"\x89PNG\r\n",
    ],
    ids=["empty", "bottomless", "deep metadata", "endless number", "binary"],
)
def test_text_that_no_parser_likes_is_a_format_error(text: str | bytes) -> None:
    """Empty, bottomless and binary input is reported like any other damage."""
    with pytest.raises(TranscriptFormatError):
        entries_from_json(text)


@pytest.mark.parametrize("bad", [{"x": object()}, {"x": b"bytes"}, {("a",): 1}])
def test_metadata_that_is_no_json_is_the_callers_error(bad: dict[Any, Any]) -> None:
    """The error names the entry, so that the caller finds who put it there."""
    transcript: list[TranscriptEntry] = [AssistantTextEntry(""), ReasoningEntry("", metadata=bad)]

    with pytest.raises(UserError, match="Entry 1 cannot be written"):
        entries_to_json(transcript)
