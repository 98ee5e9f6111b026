"""A transcript's figures add up."""

from __future__ import annotations

from hypothesis import given

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
from lovia.transcript.facts import ResultSize, characters, summarize_transcript
from tests.transcript.strategies import transcripts


def test_figures_of_a_small_transcript() -> None:
    """Kinds, sizes, tools, batches and the largest results are counted."""
    transcript: list[TranscriptEntry] = [
        InputEntry("user", [TextPart("look"), ImagePart(data="1234"), FilePart(url="12345")]),
        ReasoningEntry("hm", signature="123"),
        ToolCallEntry("a", "see", "{}"),
        ToolCallEntry("b", "see", "{}"),
        ToolResultEntry("a", "12"),
        ToolResultEntry("b", "123", parts=[ImagePart(data="1234")]),
        ToolCallEntry("a", "ask", ""),
        ToolResultEntry("a", ""),
        ToolResultEntry("lost", "1"),
        AssistantTextEntry("done"),
    ]

    facts = summarize_transcript(transcript, largest=3)

    assert facts.entries == {
        "input": 1,
        "reasoning": 1,
        "tool_call": 3,
        "tool_result": 4,
        "assistant_text": 1,
    }
    assert facts.characters == {
        "input": 13,
        "reasoning": 5,
        "tool_call": 13,
        "tool_result": 10,
        "assistant_text": 4,
    }
    assert (facts.images, facts.files) == (2, 1)
    assert list(facts.calls.items()) == [("see", 2), ("ask", 1)]
    assert (facts.batches, facts.most_parallel_calls) == (2, 2)
    assert facts.largest_results == (
        ResultSize(5, "see", 7),
        ResultSize(4, "see", 2),
        ResultSize(8, None, 1),
    )


def test_an_empty_transcript_has_no_figures() -> None:
    """Nothing is counted where nothing is."""
    facts = summarize_transcript([])

    assert (facts.entries, facts.batches, facts.most_parallel_calls) == ({}, 0, 0)


@given(transcripts)
def test_figures_cover_every_entry(transcript: list[TranscriptEntry]) -> None:
    """Entries and characters of all kinds together are those of the transcript."""
    facts = summarize_transcript(transcript)

    assert sum(facts.entries.values()) == len(transcript)
    assert sum(facts.characters.values()) == sum(map(characters, transcript))
    assert (
        facts.most_parallel_calls <= sum(facts.calls.values()) == facts.entries.get("tool_call", 0)
    )
