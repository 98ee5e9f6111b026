"""Tests of putting an answer together from the pieces in which it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.providers import ModelReply
from lovia.transcript import (
    AssistantTextEntry,
    EntryCompletedDelta,
    FinishDelta,
    ReasoningDelta,
    ReasoningEntry,
    TextDelta,
    ToolCallDelta,
    ToolCallEntry,
    UsageDelta,
)
from lovia.usage import Usage

if TYPE_CHECKING:
    from lovia.transcript.deltas import ModelDelta


def reply_of(*deltas: ModelDelta) -> ModelReply:
    """Return the answer that arrives in these pieces."""
    reply = ModelReply()
    for delta in deltas:
        reply.feed(delta)
    return reply


def test_pieces_become_entries_in_the_order_in_which_models_work() -> None:
    """First the thought, then the text, then the calls, whichever piece comes when."""
    reply = reply_of(
        ToolCallDelta(0, call_id="c", name="look", arguments="{}"),
        TextDelta("a"),
        ReasoningDelta("hm"),
        TextDelta("b"),
        ReasoningDelta("m"),
    )
    assert reply.entries() == [
        ReasoningEntry("hmm"),
        AssistantTextEntry("ab"),
        ToolCallEntry("c", "look", "{}"),
    ]
    assert reply.text == "ab"


def test_calls_stand_by_their_index() -> None:
    """Their pieces may be mixed and begin with the last; the first name and id of each stays."""
    reply = reply_of(
        ToolCallDelta(1, call_id="c1", name="second", arguments='{"b"'),
        ToolCallDelta(0, call_id="c0", name="first", arguments="{"),
        ToolCallDelta(1, arguments=": 1}"),
        ToolCallDelta(0, arguments="}"),
    )
    assert reply.calls == [
        ToolCallEntry("c0", "first", "{}"),
        ToolCallEntry("c1", "second", '{"b": 1}'),
    ]


def test_a_call_without_an_id_gets_one() -> None:
    """By its index, so that its result can name it; an empty id is none."""
    reply = reply_of(
        ToolCallDelta(0, name="a", arguments="{}"), ToolCallDelta(1, call_id="", name="b")
    )
    assert [call.call_id for call in reply.calls] == ["call_0", "call_1"]


def test_entries_that_are_complete_replace_the_pieces_of_their_kind() -> None:
    """They keep their order; pieces of a kind that was never completed are added."""
    whole = ReasoningEntry("hm", signature="s")
    reply = reply_of(
        ReasoningDelta("hm"),
        TextDelta("said"),
        ToolCallDelta(0, call_id="c", name="look", arguments="{"),
        EntryCompletedDelta(ToolCallEntry("c", "look", "{}")),
        EntryCompletedDelta(whole),
    )
    assert reply.entries() == [ToolCallEntry("c", "look", "{}"), whole, AssistantTextEntry("said")]


def test_usage_and_reason_are_those_that_came_last() -> None:
    """Vendors report the usage so far; a reason that is told once stays."""
    reply = reply_of(
        UsageDelta(Usage(input_tokens=3)),
        FinishDelta("stop"),
        UsageDelta(Usage(input_tokens=3, output_tokens=2)),
        FinishDelta(None),
    )
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)
    assert reply.finish_reason == "stop"
    assert reply_of().usage is None
