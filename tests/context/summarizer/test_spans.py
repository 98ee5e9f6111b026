"""Telemetry of a fold: real spans, in the tree that a reader expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from lovia.cancellation import CancelToken
from lovia.context.summarizer import ExtractiveSummarizer, LLMSummarizer, fold
from lovia.errors import ProviderError, RunCancelled
from lovia.transcript.entries import InputEntry
from lovia_otel import names, use_providers
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel, context, goes_on, no_wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.context.policy import PolicyContext
    from lovia.context.summarizer import FoldOutcome, Summarizer

pytestmark = pytest.mark.anyio


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """Keep finished spans in memory."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with use_providers(tracer_provider=provider):
        yield exporter
    provider.shutdown()


def _named(exported: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exported.get_finished_spans() if span.name == name]


async def _fold(
    summarizer: Summarizer, ctx: PolicyContext, count: int = 1, words: int = 300
) -> FoldOutcome:
    units = [[InputEntry("user", "word " * words)] for _ in range(count)]
    return await fold(
        units, summarizer=summarizer, ctx=ctx, prior_summary=None, focus=None, on_folded=goes_on
    )


async def test_each_model_call_is_a_chat_span_inside_its_fold(
    exported: InMemorySpanExporter,
) -> None:
    """A retried fold shows one fold span with all of its attempts as children."""
    model = FakeModel(
        Answer("half", error=ProviderError("slow down", status_code=429, retryable=True)), GOOD
    )
    ctx = context(model, agent="coder", session_id="s1")
    await _fold(LLMSummarizer(retry=no_wait()), ctx)
    (fold_span,) = _named(exported, names.SPAN_FOLD)
    failed, succeeded = _named(exported, "chat fake-1")
    assert fold_span.attributes is not None
    assert fold_span.attributes[names.CHUNK_INDEX] == 0
    assert fold_span.attributes[names.CHUNK_ATTEMPTS] == 2
    assert fold_span.attributes[names.CHUNK_DEGRADED] is False
    for span in (failed, succeeded):
        assert span.parent is not None
        assert span.parent.span_id == fold_span.context.span_id
        assert span.attributes is not None
        assert span.attributes[names.INFERENCE_PURPOSE] == names.PURPOSE_SUMMARIZE
        assert span.attributes[names.AGENT_NAME] == "coder"
        assert span.attributes[names.USAGE_INPUT_TOKENS] == 1_000
    assert failed.status.status_code is StatusCode.ERROR
    assert succeeded.status.status_code is StatusCode.UNSET
    assert fold_span.start_time is not None
    assert succeeded.end_time is not None
    assert fold_span.end_time is not None
    assert fold_span.start_time < succeeded.end_time <= fold_span.end_time


async def test_no_text_of_the_conversation_is_on_the_spans(exported: InMemorySpanExporter) -> None:
    """Neither prompts nor summaries become attributes by default."""
    await _fold(LLMSummarizer(retry=no_wait()), context(FakeModel()))
    for span in exported.get_finished_spans():
        assert not any("word" in str(value) for value in (span.attributes or {}).values())


async def test_content_is_on_the_span_where_it_is_asked_for(
    exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application that captures content sees what the summarizer asked and was answered."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    await _fold(LLMSummarizer(retry=no_wait()), context(FakeModel()))
    (span,) = _named(exported, "chat fake-1")
    attributes = span.attributes or {}
    assert "word word" in str(attributes[names.INPUT_MESSAGES])
    assert "port it" in str(attributes[names.OUTPUT_MESSAGES])


async def test_pieces_are_folds_of_their_own_and_say_so(exported: InMemorySpanExporter) -> None:
    """An oversized entry shows as several folds, each marked as degraded."""
    model = FakeModel(window=2_000)
    await _fold(LLMSummarizer(retry=no_wait()), context(model, window=2_000), words=3_000)
    spans = _named(exported, names.SPAN_FOLD)
    assert len(spans) > 1
    assert all((span.attributes or {})[names.CHUNK_DEGRADED] for span in spans)
    assert [(span.attributes or {})[names.CHUNK_INDEX] for span in spans] == list(range(len(spans)))


async def test_a_failed_fold_is_an_error_span(exported: InMemorySpanExporter) -> None:
    """The fold that ended the pass names the class of its error."""
    outcome = await _fold(LLMSummarizer(), context(FakeModel(Answer(call="bash"))))
    (span,) = _named(exported, names.SPAN_FOLD)
    assert outcome.error is not None
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})[names.ERROR_TYPE] == "SummaryRejected"


async def test_a_cancelled_fold_names_its_checkpoint(exported: InMemorySpanExporter) -> None:
    """Both spans that a cancellation ends say why and where it was noticed."""
    token = CancelToken()
    token.cancel("shutdown")
    model = FakeModel()
    with pytest.raises(RunCancelled):
        await LLMSummarizer().summarize(
            [InputEntry("user", "hi")], ctx=context(model, cancel=token)
        )
    (span,) = _named(exported, "chat fake-1")
    assert (span.attributes or {})[names.CANCELLATION_REASON] == "shutdown"
    assert (span.attributes or {})[names.CANCELLATION_CHECKPOINT] == "summary_stream"


async def test_a_summarizer_without_a_model_makes_no_chat_span(
    exported: InMemorySpanExporter,
) -> None:
    """The extractive summarizer's folds have no model calls."""
    await _fold(ExtractiveSummarizer(), context(window=8_000))
    (span,) = exported.get_finished_spans()
    assert (span.name, (span.attributes or {})[names.CHUNK_ATTEMPTS]) == (names.SPAN_FOLD, 0)
