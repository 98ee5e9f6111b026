"""Replies that are no summaries are told apart."""

from __future__ import annotations

import pytest

from lovia.context.summarizer.prompts import REQUIRED_SECTIONS
from lovia.context.summarizer.verdict import judge
from lovia.providers.reply import ModelReply
from lovia.transcript.deltas import FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta
from tests.context.summarizer.fakes import GOOD


def _reply(
    text: str = "", *, finish: str | None = "stop", reasoning: str = "", call: bool = False
) -> ModelReply:
    reply = ModelReply()
    if reasoning:
        reply.feed(ReasoningDelta(reasoning))
    if text:
        reply.feed(TextDelta(text))
    if call:
        reply.feed(ToolCallDelta(index=0, call_id="c1", name="bash", arguments="{}"))
    reply.feed(FinishDelta(finish))
    return reply


@pytest.mark.parametrize(
    ("reply", "rejection"),
    [
        (_reply(), "empty"),
        (_reply(" \n"), "empty"),
        (_reply(finish=None), "empty"),
        (_reply(finish="length"), "length"),
        (_reply(GOOD, finish="length"), "length"),
        (_reply(GOOD, finish="MAX_TOKENS"), "length"),
        (_reply(reasoning="hm"), "reasoning_only"),
        (_reply(reasoning="hm", finish="length"), "reasoning_only"),
        (_reply("<think>hm</think>\n"), "reasoning_only"),
        (_reply(call=True, finish="tool_calls"), "tool_call"),
        (_reply("Let me look.", call=True), "tool_call"),
        (_reply(finish="content_filter"), "refusal"),
        (_reply("Part of it", finish="refusal"), "refusal"),
        (_reply("I'm sorry, but I can't help with that."), "refusal"),
        (_reply("I’m unable to do this."), "refusal"),
        (_reply("抱歉，我无法总结这段对话。"), "refusal"),
        (_reply(GOOD), None),
        (_reply(GOOD, call=True), None),
        (_reply(GOOD, finish=None), None),
        (_reply("A summary in plain prose."), None),
    ],
)
def test_verdicts(reply: ModelReply, rejection: str | None) -> None:
    """Each kind of reply gets its own reason, and a summary gets none."""
    verdict = judge(reply, REQUIRED_SECTIONS)
    assert verdict.rejection == rejection
    assert verdict.usable is (rejection is None)
    if rejection is not None:
        assert verdict.error().reason == rejection


@pytest.mark.parametrize(
    ("text", "finish", "worth"),
    [
        (GOOD, "stop", False),
        ("prose", "stop", True),
        ("", "stop", True),
        (GOOD, "length", True),
        ("", "content_filter", False),
    ],
)
def test_asking_again_where_it_can_help(text: str, finish: str, worth: bool) -> None:
    """An empty, cut off or incomplete reply is asked for again, a refusal is not."""
    assert judge(_reply(text, finish=finish), REQUIRED_SECTIONS).worth_a_retry is worth


def test_thoughts_written_into_the_text_are_dropped() -> None:
    """What a model thinks aloud before it answers is no part of the summary."""
    assert judge(_reply(f"<think>the user wants\n{GOOD}</think>\n{GOOD}"), ()).text == GOOD.strip()


def test_without_required_sections_prose_is_a_whole_summary() -> None:
    """Where no sections are asked for, nothing is missing."""
    verdict = judge(_reply("Prose."), ())
    assert verdict.usable
    assert not verdict.worth_a_retry


def test_text_that_does_not_encode_is_repaired() -> None:
    """A lone surrogate in a reply does not get into the summary."""
    judge(_reply("broken \ud83d text"), ()).text.encode()
