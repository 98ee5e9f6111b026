"""What is odd about a transcript is listed, and ordinary transcripts have nothing odd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

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
from lovia.transcript.problems import find_problems
from tests.transcript.strategies import transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence

USER = InputEntry("user", "hello")
ANSWER = AssistantTextEntry("hi")
THOUGHT = ReasoningEntry("hm")


def call(call_id: str, arguments: str = "{}") -> ToolCallEntry:
    """Return a call of one tool."""
    return ToolCallEntry(call_id, "f", arguments)


def result(call_id: str) -> ToolResultEntry:
    """Return an ordinary result."""
    return ToolResultEntry(call_id, "ok")


def kinds(
    transcript: Sequence[TranscriptEntry], messages: Sequence[int] | None = None
) -> list[tuple[int, str]]:
    """Return the places and kinds of the problems found."""
    return [(p.index, p.kind) for p in find_problems(transcript, messages=messages)]


def test_an_ordinary_transcript_has_no_problems() -> None:
    """Leading system messages, parallel calls and thoughts before them are as they should be."""
    transcript: list[TranscriptEntry] = [
        InputEntry("system", "be brief"),
        InputEntry("developer", "and kind"),
        USER,
        THOUGHT,
        ANSWER,
        call("a"),
        call("b", ""),
        result("b"),
        result("a"),
        THOUGHT,
        ANSWER,
        USER,
        ANSWER,
    ]

    assert kinds(transcript) == []


@pytest.mark.parametrize(
    ("transcript", "expected"),
    [
        ([USER, call("a"), result("a"), call("a"), result("a")], [(3, "repeated_call_id")]),
        ([USER, call("a"), call("a"), result("a"), result("a")], [(2, "repeated_call_id")]),
        ([USER, call("a"), USER], [(1, "unanswered_call")]),
        ([USER, call("a"), call("b"), result("b"), ANSWER], [(1, "unanswered_call")]),
        ([USER, call("a"), call("b"), result("b")], [(1, "open_call")]),
        ([USER, result("a")], [(1, "orphan_result")]),
        ([USER, call("a"), result("a"), result("a")], [(3, "orphan_result")]),
        ([USER, AssistantTextEntry("")], [(1, "empty_message")]),
        ([InputEntry("user", []), ANSWER], [(0, "empty_message")]),
        ([USER, ReasoningEntry(""), ANSWER], [(1, "empty_message")]),
        ([USER, ReasoningEntry("", signature="s"), ANSWER], []),
        ([USER, call("a", "{"), result("a")], [(1, "arguments_not_json")]),
        ([USER, call("a", "[" * 50_000), result("a")], [(1, "arguments_not_json")]),
        ([InputEntry("user", "\ud800"), ANSWER], [(0, "lone_surrogate")]),
        ([InputEntry("user", [TextPart("\udc00")]), ANSWER], [(0, "lone_surrogate")]),
        ([InputEntry("user", "x" * 100_000), ANSWER], [(0, "very_large")]),
        ([InputEntry("user", [ImagePart(data="x" * 100_000)]), ANSWER], [(0, "very_large")]),
        ([USER, USER, ANSWER], [(1, "repeated_role")]),
        ([USER, ANSWER, ANSWER], [(2, "split_step")]),
        ([USER, call("a"), result("a"), call("b"), result("b"), ANSWER], []),
        ([USER, THOUGHT, USER, ANSWER], [(1, "trailing_reasoning")]),
        ([USER, THOUGHT], [(1, "trailing_reasoning")]),
        ([USER, InputEntry("system", "late"), ANSWER], [(1, "late_system")]),
    ],
)
def test_each_oddity_is_found_where_it_is(
    transcript: list[TranscriptEntry], expected: list[tuple[int, str]]
) -> None:
    """A transcript with one oddity reports that one, at its entry."""
    assert kinds(transcript) == expected


def test_message_numbers_show_a_step_recorded_as_two() -> None:
    """Text and call of one message are one step; of two messages they are a split one."""
    transcript: list[TranscriptEntry] = [USER, ANSWER, call("a"), result("a")]

    assert kinds(transcript, messages=[0, 1, 1, 2]) == []
    assert kinds(transcript, messages=[0, 1, 2, 3]) == [(2, "split_step")]


def test_messages_quote_hostile_names_harmlessly() -> None:
    """Ids and names are quoted in ASCII and shortened."""
    problems = find_problems([USER, ToolResultEntry("\ud800" * 10_000, "")])

    assert all(problem.message.isascii() and len(problem.message) < 1000 for problem in problems)


@given(transcripts)
def test_any_transcript_can_be_looked_at(transcript: list[TranscriptEntry]) -> None:
    """Whatever is in a transcript, its problems are found, in order and within it."""
    problems = find_problems(transcript)

    places = [problem.index for problem in problems]
    assert places == sorted(places)
    assert all(0 <= place < len(transcript) for place in places)
    assert all(problem.message.isascii() for problem in problems)
