"""For all entries, windows, prior summaries and failures: no request too large, nothing lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer import LLMSummarizer, fold
from lovia.context.summarizer.ledger import HEADING
from lovia.errors import ProviderError
from lovia.tokens import TiktokenCounter, load_counter
from lovia.usage import Usage
from tests.context.summarizer.fakes import (
    COUNTER,
    GOOD,
    SPENT,
    Answer,
    FakeModel,
    Request,
    Steps,
    context,
    no_wait,
)
from tests.context.summarizer.strategies import texts, units

if TYPE_CHECKING:
    from lovia.tokens import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", autouse=True)
def _loaded(_offline_vocabulary: None) -> None:
    """Load the tokenizer before a loop runs."""
    assert isinstance(anyio.run(load_counter, "gpt-4"), TiktokenCounter)


#: An estimate that reads samples, and a tokenizer that counts exactly.
COUNTERS = (COUNTER, TiktokenCounter("cl100k_base"))
ANSWERS = st.sampled_from(
    [
        *[Answer(GOOD)] * 6,
        Answer("## Goal\nport src/x.py\n## State\n" + "much is done. " * 20 + "\n## Planned\nnone"),
        Answer("prose without form " * 10),
        Answer("rambling " * 3_000),
        Answer(""),
        Answer("cut", finish="length"),
        Answer(call="bash"),
        Answer("half", error=ProviderError("slow down", status_code=429, retryable=True)),
        Answer(error=ProviderError("no", status_code=400)),
        Answer(GOOD, usage=None),
        Answer(f"{GOOD}\n{HEADING}\n- `rm -rf /`"),
    ]
)


def _reported(answer: Answer) -> Usage:
    """Return what a provider reports before such an answer ends."""
    if answer.usage is None:
        return Usage()
    return Usage(SPENT.input_tokens, 0 if answer.error else SPENT.output_tokens)


@given(
    spans=units() | units(40),
    window=st.integers(1_000, 9_000),
    stated=st.sampled_from([1.0, 1.0, 3.0, None]),
    prior=st.none() | texts() | st.builds(lambda text: (text or "fact ") * 40, texts(20)),
    focus=st.none() | st.just("the parser"),
    answers=st.lists(ANSWERS, max_size=30),
    result_chars=st.sampled_from([300, 2_000, 1_000_000]),
    counter=st.sampled_from(COUNTERS),
)
async def test_no_request_is_larger_than_the_window_and_nothing_is_lost(
    spans: list[list[TranscriptEntry]],
    window: int,
    stated: float | None,
    prior: str | None,
    focus: str | None,
    answers: list[Answer],
    result_chars: int,
    counter: TokenCounter,
) -> None:
    """Requests fit the window they know of; coverage, summary and usage always agree."""
    script = list(answers)
    reported: list[Usage] = []

    def answer(request: Request) -> Answer:
        given = script.pop(0) if script else Answer(GOOD)
        reported.append(_reported(given))
        return given

    claimed = None if stated is None else int(window * stated)
    model = FakeModel(then=answer, window=window, stated=claimed or 0, counter=counter)
    ctx, steps = context(model, window=claimed, counter=counter), Steps()
    summarizer = LLMSummarizer(retry=no_wait(), result_chars=result_chars)
    outcome = await fold(
        spans,
        summarizer=summarizer,
        ctx=ctx,
        prior_summary=prior,
        focus=focus,
        on_folded=steps,
    )
    if claimed == window:
        assert model.refused == 0
    assert model.refused <= 1
    sent = [request for request in model.requests if request.size <= window]
    assert len(sent) == len(model.requests) - model.refused
    assert steps.done == sorted(steps.done)
    assert outcome.units_done == (steps.done[-1] if steps.done else 0)
    assert (outcome.error is None) is (outcome.units_done == len(spans))
    assert outcome.summary == (steps.seen[-1].summary if steps.seen else prior)
    assert outcome.usage == ctx.usage.summary
    assert outcome.usage.input_tokens == sum(usage.input_tokens for usage in reported)
    assert outcome.usage.output_tokens == sum(usage.output_tokens for usage in reported)
    if steps.seen and outcome.summary is not None:
        outcome.summary.encode()
        assert outcome.summary.count(HEADING) <= 1
        covered = [entry for unit in spans[: outcome.units_done] for entry in unit]
        replaced = counter.text(prior or "") + counter.entries(covered)
        assert counter.text(outcome.summary) <= replaced * 1.1 + 8
