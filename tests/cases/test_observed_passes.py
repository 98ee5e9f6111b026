"""What is told of a pass is what happened, where and when it happened."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from opentelemetry.trace import StatusCode

from lovia import CancelToken, Runner, events
from lovia.context import AutoSummaryStage, MiddleSnipStage, PolicyContext, StageResult
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import RunCancelled
from lovia_otel import names
from tests.cases.support import Conversation, check_view, policy_of, reader
from tests.context.summarizer.fakes import Answer, FakeModel, no_wait
from tests.notation import COUNTER, A, C, S, T, U
from tests.runtime.support import events_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from opentelemetry.sdk.trace import ReadableSpan

    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry
    from lovia.transcript.deltas import ModelDelta
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {"context_window_tokens": 3_000, "max_entries": None}


def history(turns: int = 14) -> list[TranscriptEntry]:
    """Return a conversation that is over its trigger."""
    said: list[TranscriptEntry] = [S()]
    for n in range(turns):
        said += [U(f"u{n}", tokens=90), A(f"a{n}", tokens=90)]
    return [*said, U("newest")]


class Slow(FakeModel):
    """A model that takes its time."""

    async def stream(self, *args: Any, **options: Any) -> AsyncIterator[ModelDelta]:
        """Answer after a while."""
        await anyio.sleep(0.05)
        async for delta in super().stream(*args, **options):
            yield delta


def spans_of(telemetry: Telemetry, name: str) -> list[ReadableSpan]:
    """Return the finished spans of an operation, in the order of their start."""
    finished = telemetry.exported.get_finished_spans()
    spans = [span for span in finished if f"{span.name} ".startswith(f"{name} ")]
    return sorted(spans, key=lambda span: span.start_time or 0)


def ancestors(telemetry: Telemetry, span: ReadableSpan) -> list[str]:
    """Return the names of the spans around a span, from the inside."""
    by_id = {s.context.span_id: s for s in telemetry.exported.get_finished_spans() if s.context}
    found = []
    while span.parent is not None and span.parent.span_id in by_id:
        span = by_id[span.parent.span_id]
        found.append(span.name)
    return found


def seconds(span: ReadableSpan) -> float:
    """Return how long a span lasted."""
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


async def test_the_span_of_a_pass_holds_its_summary_calls(telemetry: Telemetry) -> None:
    """A pass lasts at least as long as its summaries, whose model calls are inside its span."""
    policy = policy_of(Slow(window=1_400), **SETTINGS)
    await policy.apply(history(24), ctx=PolicyContext(session_id="s", agent="bot"))
    (span,) = spans_of(telemetry, names.SPAN_PASS)
    calls = spans_of(telemetry, names.SPAN_CHAT)
    folds = spans_of(telemetry, names.SPAN_FOLD)
    assert len(calls) == len(folds) >= 2
    assert seconds(span) >= 0.05 * len(calls)
    assert seconds(span) >= sum(map(seconds, calls))
    for chat in calls:
        assert dict(chat.attributes or {})[names.INFERENCE_PURPOSE] == names.PURPOSE_SUMMARIZE
        assert ancestors(telemetry, chat) == [
            *(names.SPAN_FOLD, f"{names.SPAN_STAGE} auto_summary", names.SPAN_PASS)
        ]


class Padding:
    """A stage that makes a view larger."""

    name = "padding"

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Prepend a note to the newest message."""
        return StageResult([*entries[:-1], U("note", tokens=900), entries[-1]], changed=True)


class Failing:
    """A stage that fails."""

    name = "failing"

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Fail."""
        raise KeyError("bug")


def summarising(*answers: Answer | str, keep: int = 40) -> AutoSummaryStage:
    """Return a summary stage whose model gives these answers, and good ones after them."""
    model = FakeModel(*answers, window=1_400)
    return AutoSummaryStage(LLMSummarizer(model, retry=no_wait()), keep_recent=keep)


@dataclass(frozen=True)
class Ending:
    """One way for a pass to end: its stages, and what the span says beside the outcome."""

    stages: Callable[[], list[Any]]
    stage_outcomes: tuple[str, ...]
    error_type: str | None = None
    reason: str | None = None


ENDINGS: dict[str, Ending] = {
    "compacted": Ending(lambda: [summarising()], ("applied",), reason="auto_summary"),
    "partial": Ending(
        lambda: [Failing(), summarising()], ("failed", "applied"), reason="auto_summary"
    ),
    "noop": Ending(lambda: [MiddleSnipStage(max_entries=None, keep_recent=500)], ("noop",)),
    "failed": Ending(
        lambda: [summarising(Answer(""), Answer(""))], ("failed",), error_type="SummaryRejected"
    ),
    "inflated": Ending(lambda: [Padding()], ("applied",)),
    "cancelled": Ending(lambda: [summarising()], ("cancelled",), error_type="RunCancelled"),
}


class StopsAtFold(CancelToken):
    """A token on which somebody asks for a stop before the second fold."""

    folds = 0

    def check(self, checkpoint: str | None = None) -> None:
        """Pass a safe point, or not."""
        self.folds += checkpoint == "fold"
        if self.folds == 2:
            self.cancel("shutdown")
        super().check(checkpoint)


@pytest.mark.parametrize("outcome", ENDINGS)
async def test_each_way_for_a_pass_to_end_has_its_own_outcome(
    outcome: str, telemetry: Telemetry
) -> None:
    """Result, event, span, stage spans and metrics agree on how a pass ended, and tell it apart."""
    ending = ENDINGS[outcome]
    policy = policy_of(**SETTINGS, stages=ending.stages())
    seen: list[events.Event] = []
    ctx = PolicyContext(emit=seen.append, cancel=StopsAtFold() if outcome == "cancelled" else None)
    transcript = history(24)
    try:
        result: ContextPolicyResult | None = await policy.apply(transcript, ctx=ctx)
    except RunCancelled:
        result = None
    assert (result.outcome if result else "cancelled") == outcome
    assert [e.outcome for e in seen if isinstance(e, events.CompactionEnded)] == [outcome]

    span = telemetry.attributes(names.SPAN_PASS)
    assert span[names.COMPACTION_OUTCOME] == outcome
    assert span.get(names.ERROR_TYPE) == ending.error_type
    assert span.get(names.COMPACTION_REASON) == ending.reason
    is_error = telemetry.spans[names.SPAN_PASS].status.status_code is StatusCode.ERROR
    assert is_error == (ending.error_type is not None)
    stages = spans_of(telemetry, names.SPAN_STAGE)
    told = [dict(stage.attributes or {})[names.COMPACTION_OUTCOME] for stage in stages]
    assert told == list(ending.stage_outcomes)
    measured = telemetry.keys(names.METRIC_COMPACTION_DURATION)
    assert measured[names.COMPACTION_OUTCOME] == outcome
    assert measured.get(names.ERROR_TYPE) == ending.error_type
    if result is not None:
        check_view(result.entries, transcript)
        assert result.changed == (outcome in {"compacted", "partial"})
    if outcome == "cancelled":
        assert span[names.CANCELLATION_REASON] == "shutdown"
        assert span[names.CANCELLATION_CHECKPOINT] == "fold"


async def test_a_turn_without_a_pass_opens_no_span(telemetry: Telemetry) -> None:
    """A view that is sent as it is, or replayed, is told from a pass that did nothing."""
    talk = Conversation(policy_of(**SETTINGS), *history())
    await talk.view()
    telemetry.exported.clear()
    for _ in range(3):
        assert (await talk.view(A("ok"), U("go on"))).outcome is None
    assert telemetry.exported.get_finished_spans() == ()


async def test_before_after_and_freed_agree_wherever_they_are_told(telemetry: Telemetry) -> None:
    """Result, stages, event, notice and span tell the same sizes, and where these come from."""
    told: list[events.ContextCompacted] = []

    async def on_compacted(event: events.ContextCompacted) -> None:
        told.append(event)

    policy = policy_of(FakeModel(window=1_400), **SETTINGS, on_compacted=on_compacted)
    transcript = [*history(20), C("c"), T("c", tokens=400), U("go on")]
    result = await policy.apply(transcript, ctx=PolicyContext())
    sizes = result.sizes
    assert sizes is not None
    assert sizes.source == COUNTER.source
    assert sizes.freed == sizes.request_before - sizes.request_after > 0
    assert sizes.history == sizes.request_before == COUNTER.entries(transcript)
    assert sizes.request_after == COUNTER.entries(result.entries)
    records = [record for record in result.stages if record.outcome != "skipped"]
    assert records[0].before == sizes.request_before
    assert records[-1].after == sizes.request_after
    assert all(first.after == second.before for first, second in pairwise(records))

    span = telemetry.attributes(names.SPAN_PASS)
    assert span[names.COMPACTION_TOKENS_BEFORE] == sizes.request_before
    assert span[names.COMPACTION_TOKENS_AFTER] == sizes.request_after
    assert span[names.COMPACTION_TOKENS_FREED] == sizes.freed
    assert span[names.CONTEXT_HISTORY_TOKENS] == sizes.history
    assert span[names.COMPACTION_ENTRIES_AFTER] == len(result.entries)
    (event,) = told
    assert event.tokens_before_estimate == sizes.request_before
    assert event.tokens_after_estimate == sizes.request_after
    assert event.freed == sizes.freed
    assert event.history_tokens_estimate == sizes.history
    assert event.notice.tokens_after == sizes.request_after


@pytest.mark.parametrize("how", ["by_size", "by_number", "by_hand"])
async def test_sizes_are_those_of_what_is_sent(how: str) -> None:
    """After each pass, and on each turn without one, the size told is that of the view."""
    policy = policy_of(
        context_window_tokens=3_000 if how == "by_size" else None,
        max_entries=30 if how == "by_number" else None,
        large_tool_result_chars=1_200,
        tool_result_preview_chars=200,
    )
    talk = Conversation(policy, *history(8))
    for n in range(12):
        size = 400 if n % 3 else 60
        result = await talk.view(U(f"u{n}"), C(f"c{n}"), T(f"c{n}", f"r{n}", tokens=size))
        if how == "by_hand" and n % 4 == 3:
            result = await talk.compacted()
        assert result.sizes is not None
        assert result.sizes.history == COUNTER.entries(talk.transcript)
        assert result.sizes.request_after == COUNTER.entries(result.entries)
    view = (await talk.view()).entries
    assert COUNTER.entries(talk.transcript) > 2 * COUNTER.entries(view)


async def test_sizes_say_when_the_provider_s_counts_are_behind_them() -> None:
    """After a call that the provider counted, sizes are corrected by it and say so."""
    talk = Conversation(policy_of(context_window_tokens=100_000), *history(8))
    first = await talk.view()
    assert first.sizes is not None
    assert first.sizes.source == COUNTER.source
    counted = round(first.sizes.request_after * 1.5)
    second = await talk.view(A("ok"), U("more"), last_input_tokens=counted)
    assert second.sizes is not None
    assert second.sizes.source == "provider"
    assert counted <= second.sizes.request_after <= counted * 1.2


async def test_the_provider_s_count_is_told_beside_the_estimate(telemetry: Telemetry) -> None:
    """After each pass of a run the next call's own count is told, by the pass it belongs to."""
    seen = await events_of(Runner.stream(reader(), "read all"))
    passes = [event for event in seen if isinstance(event, events.ContextCompacted)]
    measured = [
        dict(log.log_record.attributes or {})
        for log in telemetry.logged.get_finished_logs()
        if log.log_record.event_name == names.EVENT_CONTEXT_MEASURED
    ]
    assert passes
    assert [m[names.COMPACTION_ID] for m in measured] == [event.pass_id for event in passes]
    for told, event in zip(measured, passes, strict=True):
        assert told[names.COMPACTION_TOKENS_AFTER] == event.tokens_after_estimate
        count = told[names.COMPACTION_TOKENS_MEASURED]
        assert isinstance(count, int)
        assert count == pytest.approx(event.tokens_after_estimate, rel=0.01)
        assert count <= 4_000


async def test_each_pass_is_told_once_wherever_it_is_told(telemetry: Telemetry) -> None:
    """Stream, callback, log, span and metric know of the same passes, each of them once."""
    called: list[events.ContextCompacted] = []

    async def on_compacted(event: events.ContextCompacted) -> None:
        called.append(event)

    seen = await events_of(Runner.stream(reader(on_compacted=on_compacted), "read all"))
    told = [event.pass_id for event in seen if isinstance(event, events.ContextCompacted)]
    assert len(told) == len(set(told)) >= 2
    assert [event.pass_id for event in called] == told
    assert [e.pass_id for e in seen if isinstance(e, events.CompactionStarted)] == told
    assert [e.pass_id for e in seen if isinstance(e, events.CompactionEnded)] == told
    logged = telemetry.all_events(names.EVENT_CONTEXT_COMPACTED)
    assert [(log.attributes or {})[names.COMPACTION_ID] for log in logged] == told
    spans = spans_of(telemetry, names.SPAN_PASS)
    assert [dict(span.attributes or {})[names.COMPACTION_ID] for span in spans] == told
    assert sum(point.count for point in telemetry.points(names.METRIC_COMPACTION_DURATION)) == len(
        told
    )


async def test_a_pass_belongs_to_the_trace_of_its_run(telemetry: Telemetry) -> None:
    """The spans of a pass are under the turn that needed it, in the same trace."""
    await events_of(Runner.stream(reader(), "read all"))
    (run,) = spans_of(telemetry, names.SPAN_RUN)
    passes = spans_of(telemetry, names.SPAN_PASS)
    assert passes
    assert run.context is not None
    for span in [*passes, *spans_of(telemetry, names.SPAN_FOLD)]:
        assert ancestors(telemetry, span)[-2:] == [names.SPAN_TURN, run.name]
        assert span.context is not None
        assert span.context.trace_id == run.context.trace_id


async def test_a_pass_without_a_span_around_it_is_traced_as_well(telemetry: Telemetry) -> None:
    """Outside of any span a pass is the root of its own trace, complete with what is inside."""
    await policy_of(**SETTINGS).apply(history(), ctx=PolicyContext())
    (root,) = [s for s in telemetry.exported.get_finished_spans() if s.parent is None]
    assert root.name == names.SPAN_PASS
    traces = {s.context.trace_id for s in telemetry.exported.get_finished_spans() if s.context}
    assert len(traces) == 1


async def test_a_larger_result_is_not_used_and_not_tried_each_turn(telemetry: Telemetry) -> None:
    """A pass that would make the request larger says so, changes nothing, and then rests."""
    talk = Conversation(policy_of(**SETTINGS, stages=[Padding()]), *history())
    results = [await talk.view()]
    results += [await talk.view(A(f"a{n}"), U(f"u{n}")) for n in range(8)]
    assert [r.outcome for r in results][:2] == ["inflated", None]
    assert len(spans_of(telemetry, names.SPAN_PASS)) == 1
    for result in results:
        assert not result.changed
        assert result.sizes is not None
        assert result.sizes.freed == 0
    assert talk.state["compacting"].get("notes") is None


async def test_a_pass_is_in_the_trace_of_the_application(telemetry: Telemetry) -> None:
    """When the application has a span open, runs and passes by hand are inside of it."""
    tracer = telemetry.tracer_provider.get_tracer("shop")
    with tracer.start_as_current_span("checkout") as own:
        await events_of(Runner.stream(reader(), "read all"))
        await policy_of(**SETTINGS).apply(history(), ctx=PolicyContext())
    passes = spans_of(telemetry, names.SPAN_PASS)
    assert len(passes) >= 2
    for span in [*passes, *spans_of(telemetry, names.SPAN_FOLD)]:
        assert ancestors(telemetry, span)[-1] == "checkout"
        assert span.context is not None
        assert span.context.trace_id == own.get_span_context().trace_id
    assert ancestors(telemetry, passes[-1]) == ["checkout"]
