"""Lovia's own files read back as what was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given

from lovia.errors import TranscriptFormatError
from lovia.transcript import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_to_json,
    load_transcript,
)
from lovia.transcript.codec import entry_to_dict, write_jsonl
from lovia.transcript.formats import read_recording
from tests.transcript.strategies import transcripts

if TYPE_CHECKING:
    from pathlib import Path


@given(transcripts)
def test_what_the_codec_writes_is_detected_and_read(transcript: list[TranscriptEntry]) -> None:
    """A JSON array, JSON Lines and an object with ``entries`` are recognised and lossless."""
    assume(transcript)
    listed = json.dumps({"version": 1, "entries": [*map(entry_to_dict, transcript)]})

    for text in (entries_to_json(transcript), "".join(write_jsonl(transcript)), listed):
        recording = read_recording(text.encode())

        assert recording.format == "lovia"
        assert recording.entries == transcript


def test_a_run_of_entries_by_the_model_is_one_message(tmp_path: Path) -> None:
    """Messages end where somebody else speaks."""
    transcript: list[TranscriptEntry] = [
        InputEntry("user", "hello"),
        ReasoningEntry("hm"),
        AssistantTextEntry("let me see"),
        ToolCallEntry("a", "f", "{}"),
        ToolResultEntry("a", "one"),
        AssistantTextEntry("done"),
    ]
    path = tmp_path / "saved.jsonl"
    path.write_text("".join(write_jsonl(transcript)), encoding="ascii")

    assert load_transcript(path) == transcript
    assert read_recording(path).messages == (0, 1, 1, 1, 2, 3)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """A file cut off in the middle of a line names the line and says what happened."""
    path = tmp_path / "saved.jsonl"
    text = "".join(write_jsonl([InputEntry("user", "one"), InputEntry("user", "two")]))
    path.write_text(text[:-5], encoding="ascii")

    with pytest.raises(TranscriptFormatError, match="cut off") as caught:
        load_transcript(path)

    assert caught.value.source == str(path)
    assert (caught.value.position or "").startswith("line 2, column")
