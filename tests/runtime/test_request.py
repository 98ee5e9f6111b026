"""Sizes of requests, and what they repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia import AssistantTextEntry, ContextPolicyResult, InputEntry
from lovia.context.policy import ContextSizes
from lovia.runtime.activation import ActiveAgent
from lovia.runtime.request import RequestLog
from lovia.testing import ScriptedProvider
from lovia.tokens import counter_for
from tests.runtime.support import Untouched, scripted

if TYPE_CHECKING:
    from lovia import TranscriptEntry


def active_agent(prompt: str | None = "Be brief.", window: int | None = None) -> ActiveAgent:
    """Return an agent as a run uses it."""
    provider = ScriptedProvider([], window=window)
    return ActiveAgent(
        agent=scripted(provider=provider),
        provider=provider,
        policy=Untouched(),
        retry=None,
        tools={},
        schemas=({"type": "function", "function": {"name": "f", "parameters": {}}},),
        prompt=InputEntry("system", prompt) if prompt else None,
        output=None,
        response_format=None,
        handoffs={},
    )


def entries(*words: str) -> list[TranscriptEntry]:
    """Return a transcript of user messages."""
    return [InputEntry("user", word) for word in words]


def fresh_size(active: ActiveAgent, view: list[TranscriptEntry]) -> int:
    """Count a request from scratch."""
    counter = counter_for(active.provider, active.model)
    prompt: Any = active.prompt.content if active.prompt else None
    return counter.overhead(instructions=prompt, tools=active.schemas) + counter.entries(view)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.lists(st.text(max_size=30), max_size=4)), max_size=6)
)
def test_sizes_are_those_of_a_count_from_scratch(turns: list[tuple[int, list[str]]]) -> None:
    """However views are cut and grow, all sizes are what counting everything gives."""
    log, active, transcript, known = RequestLog(), active_agent(), entries("go"), 0
    for cut, words in turns:
        transcript += entries(*words)
        view = transcript[:1] + transcript[1 + cut :]
        request = log.build(active, ContextPolicyResult(view, changed=True), transcript)
        assert request.sizes.request_after == fresh_size(active, view)
        assert request.sizes.history == fresh_size(active, transcript)
        assert request.entries == [active.prompt, *view]
        assert request.prefix_reused is None or 0 <= request.prefix_reused <= 1
        assert request.new == fresh_size(active, transcript) - known
        known = request.sizes.history
        log.answered()


def test_a_growing_view_repeats_the_last_request() -> None:
    """The share that repeats is the last request's size over this one's; there is none at first."""
    log, active, transcript = RequestLog(), active_agent(), entries("go")
    first = log.build(active, ContextPolicyResult(transcript, changed=False), transcript)
    transcript.append(AssistantTextEntry("a" * 50))
    second = log.build(active, ContextPolicyResult(transcript, changed=False), transcript)
    assert first.prefix_reused is None
    share = first.sizes.request_after / second.sizes.request_after
    assert second.prefix_reused == pytest.approx(share)


def test_a_cut_view_repeats_up_to_the_cut() -> None:
    """Behind the first entry that differs nothing repeats, also where entries are equal again."""
    log, active, transcript = RequestLog(), active_agent(), entries("a", "b", "c", "d")
    log.build(active, ContextPolicyResult(transcript, changed=False), transcript)
    view = [transcript[0], *transcript[2:]]
    request = log.build(active, ContextPolicyResult(view, changed=True), transcript)
    kept = fresh_size(active, transcript[:1])
    assert request.prefix_reused == pytest.approx(kept / fresh_size(active, view))


def test_another_speaker_repeats_nothing() -> None:
    """After a handoff other instructions lead, so no prefix is served from a cache."""
    log, transcript = RequestLog(), entries("a", "b")
    log.build(active_agent(), ContextPolicyResult(transcript, changed=False), transcript)
    other = active_agent("Be long.")
    request = log.build(other, ContextPolicyResult(transcript, changed=False), transcript)
    assert request.prefix_reused == 0
    assert request.sizes.history == fresh_size(other, transcript)


def test_what_no_answer_came_to_is_new_again() -> None:
    """A refused request makes nothing known; another agent and what plugins show are new, too."""
    log, active, transcript = RequestLog(), active_agent(), entries("a", "b")
    first = log.build(active, ContextPolicyResult(transcript, changed=False), transcript)
    again = log.build(active, ContextPolicyResult(transcript[1:], changed=True), transcript)
    assert first.new == again.new == first.sizes.history
    log.answered()
    beside = entries("look here")
    shown = log.build(active, ContextPolicyResult(transcript, changed=False), transcript, beside)
    assert shown.new == counter_for(active.provider, active.model).entries(beside)
    other = log.build(active_agent(), ContextPolicyResult(transcript, changed=False), transcript)
    assert other.new == other.sizes.history


def test_what_is_new_is_on_the_scale_of_the_sizes() -> None:
    """A policy that counts twice as many tokens as we do has twice as many new ones."""
    log, active, transcript = RequestLog(), active_agent(), entries("a" * 90)
    tokens = 2 * fresh_size(active, transcript)
    said = ContextSizes(tokens, tokens, tokens, 1_000, "tokenizer")
    result = ContextPolicyResult(transcript, changed=False, sizes=said)
    assert log.build(active, result, transcript).new == tokens


def test_the_sizes_of_a_policy_win() -> None:
    """A policy that says the sizes is believed; without it the provider's window is used."""
    log, active, transcript = RequestLog(), active_agent(None, window=77), entries("a")
    said = ContextSizes(history=9, request_before=8, request_after=7, window=6, source="provider")
    result = ContextPolicyResult(transcript, changed=False, sizes=said)
    request = log.build(active, result, transcript)
    assert request.sizes is said
    assert request.entries == transcript
    assert request.entries is not transcript
    plain = log.build(active, ContextPolicyResult(transcript, changed=False), transcript)
    assert plain.sizes.window == 77
