"""The two requests that an earlier system could not make, and the reports like them."""

from __future__ import annotations

import pytest

from lovia.context.summarizer import LLMSummarizer, fold
from lovia.transcript.entries import InputEntry, ToolCallEntry, ToolResultEntry, TranscriptEntry
from tests.context.summarizer.fakes import (
    COUNTER,
    GOOD,
    FakeModel,
    Steps,
    context,
    goes_on,
    no_wait,
)

pytestmark = pytest.mark.anyio
WORDS = "the quick brown fox jumps over the lazy dog and reads src/app.py again. "


def _words(tokens: int) -> str:
    text = WORDS * (tokens // 10 + 1)
    while COUNTER.text(text) < tokens:
        text += text[:400]
    return text


def _tool_unit(tokens: int, call_id: str = "c1") -> list[TranscriptEntry]:
    result = ToolResultEntry(call_id, _words(tokens))
    return [ToolCallEntry(call_id, "read", '{"path": "a.py"}'), result]


async def test_a_prior_summary_of_15k_characters_leaves_room_in_a_window_of_4096() -> None:
    """A prior summary that fills the window is folded anew, and one more chunk fits beside it."""
    model = FakeModel(window=4_096)
    ctx = context(model, window=4_096)
    prior = "\n".join(f"- fact number {i}: the port is {8000 + i}" for i in range(400))[:15_000]
    steps = Steps()
    outcome = await fold(
        [[InputEntry("user", _words(900))]],
        summarizer=LLMSummarizer(retry=no_wait()),
        ctx=ctx,
        prior_summary=prior,
        on_folded=steps,
    )
    assert outcome.error is None
    assert outcome.units_done == 1
    assert model.refused == 0
    assert all(request.size <= 4_096 for request in model.requests)
    assert steps.done == [0, 1]
    assert "fact number 1:" in model.requests[0].text  # the prior summary was read, not dropped
    assert any("fact number 300:" in request.text for request in model.requests[1:])


@pytest.mark.parametrize("result_chars", [2_000, 1_000_000])
async def test_a_tool_result_of_10k_tokens_is_folded_in_a_window_of_4096(result_chars: int) -> None:
    """A single huge result succeeds, clipped or in pieces, with every request inside the window."""
    model = FakeModel(window=4_096)
    outcome = await fold(
        [_tool_unit(10_000)],
        summarizer=LLMSummarizer(retry=no_wait(), result_chars=result_chars),
        ctx=context(model, window=4_096),
        prior_summary=None,
        on_folded=goes_on,
    )
    assert outcome.error is None
    assert outcome.units_done == 1
    assert outcome.degraded is (result_chars > 2_000)
    assert (outcome.chunks_folded > 1) is (result_chars > 2_000)
    assert model.refused == 0
    assert all(request.size <= 4_096 for request in model.requests)


async def test_a_history_of_60k_tokens_is_folded_in_a_window_of_1k() -> None:
    """Coverage grows step by step until all of it is covered, each request within the window."""
    model = FakeModel(window=1_000)
    steps = Steps()
    outcome = await fold(
        [[InputEntry("user", _words(200))] for _ in range(60)],
        summarizer=LLMSummarizer(retry=no_wait()),
        ctx=context(model, window=1_000),
        prior_summary=None,
        on_folded=steps,
    )
    assert outcome.error is None
    assert outcome.units_done == 60
    assert steps.done == sorted(set(steps.done))
    assert model.refused == 0
    assert all(request.size <= 1_000 for request in model.requests)


@pytest.mark.parametrize("reported", [True, False])
async def test_a_window_smaller_than_stated_costs_few_refusals(reported: bool) -> None:
    """A refusal that names its window is the only one; without the name the requests are halved."""
    model = FakeModel(window=8_192, stated=65_536, reported=reported)
    outcome = await fold(
        [[InputEntry("user", _words(500))] for _ in range(100)],
        summarizer=LLMSummarizer(retry=no_wait()),
        ctx=context(model, window=65_536),
        prior_summary=None,
        on_folded=goes_on,
    )
    assert outcome.error is None
    assert outcome.units_done == 100
    assert model.refused == (1 if reported else 4)
    assert outcome.reported_window == (8_192 if reported else None)
    assert outcome.summary is not None
    assert outcome.summary.startswith(GOOD.strip())


async def test_many_large_results_are_chunked_by_what_is_sent_of_them() -> None:
    """Results of 100k tokens of which 2,000 characters are read share one request."""
    model = FakeModel(window=16_000)
    outcome = await fold(
        [_tool_unit(20_000, f"c{i}") for i in range(10)],
        summarizer=LLMSummarizer(retry=no_wait()),
        ctx=context(model, window=16_000),
        prior_summary=None,
        on_folded=goes_on,
    )
    assert outcome.error is None
    assert outcome.chunks_folded == 1
    assert model.requests[0].text.count("<result ") == 10
