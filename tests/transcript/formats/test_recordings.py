"""The recorded transcripts beside the checkout load whole, and agree with their index."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from lovia.transcript import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
)
from lovia.transcript.digest import PrefixChain
from lovia.transcript.facts import summarize_transcript
from lovia.transcript.formats import read_recording
from lovia.transcript.problems import find_problems
from tests.paths import TRANSCRIPTS, needs_transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = needs_transcripts

INDEX: dict[str, Any] = (
    json.loads((TRANSCRIPTS / "index.json").read_text(encoding="utf-8"))
    if TRANSCRIPTS.is_dir()
    else {}
)
RAW = {
    "deepagents_summarization_seed.json": "langchain",
    "pi_before_compaction.jsonl": "pi",
    "sweagent_marshmallow_tools.traj": "swe-agent",
    "tau_airline_downgrade.json": "tau-bench",
    "tau_airline_long.json": "tau-bench",
}
NOT_RECORDED = "[no result recorded: the call was interrupted]"


@pytest.mark.parametrize("name", INDEX)
def test_counts_agree_with_the_index(name: str) -> None:
    """Messages, calls, batches, results, thoughts and images are those that the index counts."""
    counted = INDEX[name]

    recording = read_recording(TRANSCRIPTS / f"{name}.json")

    facts = summarize_transcript(recording.entries)
    assert recording.format == "openai-chat"
    assert recording.notes == ()
    assert recording.messages[-1] + 1 == counted["messages"]
    assert facts.entries.get("tool_call", 0) == counted["tool_calls"]
    assert facts.entries.get("tool_result", 0) == counted["roles"].get("tool", 0)
    assert facts.entries.get("reasoning", 0) == counted["reasoning_messages"]
    assert facts.most_parallel_calls == counted["most_parallel_calls"]
    assert sorted(facts.calls) == counted["tool_names"]
    assert facts.images == counted["image_parts"]
    longest = facts.largest_results[0].characters if facts.largest_results else 0
    assert longest == counted["longest_tool_result_chars"]


@pytest.mark.parametrize("name", INDEX)
def test_every_text_of_the_file_is_in_an_entry(name: str) -> None:
    """Contents, thoughts and arguments of all messages come back word for word, in order."""
    path = TRANSCRIPTS / f"{name}.json"
    messages = json.loads(path.read_text(encoding="utf-8"))
    written = []
    for message in messages:
        calls = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
        said = [message.get("reasoning_content"), message["content"], *calls]
        written += [text for text in said if isinstance(text, str) and text]

    read = [text for entry in read_recording(path).entries for text in texts(entry)]

    assert read == written


def texts(entry: TranscriptEntry) -> list[str]:
    """Return the texts of an entry that a message of the file wrote as a string."""
    match entry:
        case ToolCallEntry():
            return [entry.arguments]
        case ToolResultEntry():
            return [entry.output]
        case InputEntry(content=str() as text):
            return [text]
        case InputEntry():
            return []
        case AssistantTextEntry() | ReasoningEntry():
            return [entry.content]


@pytest.mark.parametrize("name", INDEX)
def test_recordings_survive_the_codec(name: str) -> None:
    """Saving and loading changes neither an entry nor the digest of the whole."""
    transcript = read_recording(TRANSCRIPTS / f"{name}.json").entries

    back = entries_from_json(entries_to_json(transcript))

    assert back == transcript
    assert PrefixChain(back).value() == PrefixChain(transcript).value()


@pytest.mark.parametrize("file", RAW)
def test_originals_hold_what_their_conversions_hold(file: str) -> None:
    """An original gives the entries of its conversion, apart from what that says it changed."""
    name = file.partition(".")[0]
    original = read_recording(TRANSCRIPTS / "raw" / file)
    converted = read_recording(TRANSCRIPTS / f"{name}.json")

    assert original.format == RAW[file]
    before, after = comparable(original.entries), comparable(converted.entries)
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        # What a cut-off call had so far is no JSON; the conversion closed it.
        assert one == other or one == (*other[:2], None)


def comparable(entries: Sequence[TranscriptEntry]) -> list[Any]:
    """Reduce entries to what a conversion must not change.

    It gave repeated ids a suffix, filled in missing and empty results, dropped messages without
    text and joined the pieces of a message.
    """
    kept: list[Any] = []
    for entry in entries:
        match entry:
            case ToolCallEntry():
                kept.append(("call", entry.name, arguments(entry.arguments)))
            case ToolResultEntry() if entry.output != NOT_RECORDED:
                kept.append(("result", entry.output or "(no output)"))
            case InputEntry():
                shown = entry.content if isinstance(entry.content, str) else text_of_parts(entry)
                kept.append((entry.role, shown))
            case AssistantTextEntry(content=text) if text:
                kept.append(("text", text))
            case _:
                continue
    return kept


def arguments(text: str) -> Any:
    """Parse arguments, as far as they are JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def text_of_parts(entry: InputEntry) -> str:
    """Return the texts of a message's parts."""
    return "\n".join(getattr(part, "text", "") for part in entry.content)


def test_the_pi_session_keeps_its_interruptions() -> None:
    """Aborted calls, empty answers and the tool's two compactions are there to be seen."""
    recording = read_recording(TRANSCRIPTS / "raw" / "pi_before_compaction.jsonl")
    changes = INDEX["pi_before_compaction"]["changes"]

    found = Counter(
        problem.kind for problem in find_problems(recording.entries, messages=recording.messages)
    )

    assert found["unanswered_call"] == changes["filled_results"]
    # The conversion dropped what had no text: empty answers, and thoughts that were cut off.
    dropped = found["empty_message"] + found["trailing_reasoning"]
    assert dropped == changes["dropped_empty_assistant"]
    assert found["arguments_not_json"] == 3
    assert [note.position for note in recording.notes] == ["line 360", "line 629"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("tau_airline_long.json", "tau_airline_long"),
        ("sweagent_marshmallow_tools.traj", "sweagent_marshmallow_tools"),
    ],
)
def test_repeated_ids_are_kept_and_reported(file: str, name: str) -> None:
    """As many repeated ids are found in an original as its conversion had to rename."""
    problems = find_problems(read_recording(TRANSCRIPTS / "raw" / file).entries)

    repeated = [problem for problem in problems if problem.kind == "repeated_call_id"]
    assert len(repeated) == INDEX[name]["changes"]["renamed_ids"]


def test_the_largest_argument_is_reported() -> None:
    """A call with 1.5 MB of arguments loads whole and is reported as very large."""
    transcript = read_recording(TRANSCRIPTS / "joinai_poster_zh.json").entries

    (problem,) = find_problems(transcript)
    entry = transcript[problem.index]
    assert problem.kind == "very_large"
    assert isinstance(entry, ToolCallEntry)
    assert len(entry.arguments) > 1_500_000
