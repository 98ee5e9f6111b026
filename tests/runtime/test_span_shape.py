"""The shape of a run's spans: who is whose parent, how long each lasts, and that all end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from lovia import Agent, CompactingContextPolicy, RunCancelled, Runner, events, tool
from lovia.testing import ScriptedProvider, batch, text
from lovia_otel import names, use_providers

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio
SUMMARY = "## Goal\nRead.\n\n## State\nRead some.\n\n## Planned\nRead on."


class Ended(SpanProcessor):
    """Keeps which spans were started and have not ended."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.started = 0

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Note a start."""
        self.started += 1
        self.open.add(span.context.span_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Note an end."""
        assert span.context is not None
        self.open.remove(span.context.span_id)


@tool
async def read(page: int) -> str:
    """Read a page."""
    await anyio.lowlevel.checkpoint()
    return f"page {page}: " + "a line of text that says something new. " * 40


@tool
def read_in_a_thread(page: int) -> str:
    """Read a page, without awaiting anything."""
    return f"page {page}: " + "a line of text that says something new. " * 40


def reading(pages: int = 12, summarize: Any = SUMMARY) -> Agent[Any]:
    """Return an agent that reads pages, two at once, more than its model's window can hold."""
    provider = ScriptedProvider(
        [
            *(
                batch(("read", {"page": page}), ("read_in_a_thread", {"page": page}))
                for page in range(pages)
            ),
            text("a b c d"),
        ],
        window=4_000,
        usage="counted",
        summarize=summarize,
    )
    policy = CompactingContextPolicy(
        keep_recent_entries=4, max_entries=None, keep_tools={"read", "read_in_a_thread"}
    )
    return Agent("reader", model=provider, tools=[read, read_in_a_thread], context_policy=policy)


def ancestors(span: ReadableSpan, known: dict[int, ReadableSpan]) -> list[ReadableSpan]:
    """Return the spans around a span, the innermost first."""
    found = []
    while span.parent is not None:
        span = known[span.parent.span_id]
        found.append(span)
    return found


async def test_a_pass_lasts_as_long_as_the_calls_inside_it(telemetry: Telemetry) -> None:
    """Each summary's call is below a fold, a stage and a pass, and none outlives its parent."""
    await Runner.run(reading(), "read all")
    spans = telemetry.exported.get_finished_spans()
    known = {span.context.span_id: span for span in spans if span.context}
    for span in spans:
        for around in ancestors(span, known):
            assert (around.start_time or 0) <= (span.start_time or 0)
            assert (around.end_time or 0) >= (span.end_time or 0), (around.name, span.name)
    summaries = [s for s in spans if (s.attributes or {}).get(names.INFERENCE_PURPOSE) != "turn"]
    summaries = [span for span in summaries if span.name.startswith(names.SPAN_CHAT)]
    assert summaries
    for span in summaries:
        around_it = [one.name.partition(" ")[0] for one in ancestors(span, known)]
        assert around_it == [
            *(names.SPAN_FOLD, names.SPAN_STAGE, names.SPAN_PASS),
            *(names.SPAN_TURN, names.SPAN_RUN),
        ]


async def test_runs_in_one_task_group_keep_apart(telemetry: Telemetry) -> None:
    """Each of several runs at once has a trace of its own, with its tools, in tasks and threads."""
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(Runner.run, reading(4), "read all")
    spans = telemetry.exported.get_finished_spans()
    roots = {span.context.trace_id for span in spans if span.parent is None and span.context}
    assert len(roots) == 3
    for root in roots:
        tools = [s for s in spans if s.context and s.context.trace_id == root]
        assert sum(span.name.startswith(names.SPAN_TOOL) for span in tools) == 8


@pytest.mark.parametrize("at", [events.TextDelta, events.ToolCallStarted, events.CompactionStarted])
@pytest.mark.parametrize("how", ["break", "raise", "cancel", "scope"])
async def test_no_span_stays_open(telemetry: Telemetry, at: type[events.Event], how: str) -> None:
    """However and wherever a reader ends, every span that began has ended by then."""
    watch = Ended()
    telemetry.tracer_provider.add_span_processor(watch)
    handle = Runner.stream(reading(), "read all")
    with suppress(LookupError, RunCancelled), anyio.CancelScope() as scope:
        async with handle:
            async for event in handle:
                assert not trace.get_current_span().get_span_context().is_valid
                if not isinstance(event, at):
                    continue
                if how == "break":
                    break
                if how == "raise":
                    raise LookupError("seen enough")
                if how == "cancel":
                    handle.cancel("user")
                else:
                    scope.cancel()
    assert watch.started
    assert watch.open == set()
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_pass_can_be_watched_while_it_runs(telemetry: Telemetry) -> None:
    """Its begin and each fold are told at once; its span and its end come when it is over."""
    under_way: list[int] = []

    def summarize(_: Any) -> Any:
        begun = [log.log_record.event_name for log in telemetry.logged.get_finished_logs()]
        ended = [span.name for span in telemetry.exported.get_finished_spans()]
        begun_passes = begun.count(names.EVENT_COMPACTION_STARTED)
        under_way.append(begun_passes - ended.count(names.SPAN_PASS))
        return text(SUMMARY)

    await Runner.run(reading(6, summarize), "read all")
    assert set(under_way) == {1}
    assert names.EVENT_COMPACTION_FOLD in telemetry.events
    assert names.SPAN_PASS in telemetry.spans


async def test_a_run_that_is_sampled_out_is_still_counted(telemetry: Telemetry) -> None:
    """Without a single span, every metric of the run is there."""
    with use_providers(
        tracer_provider=TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False),
        meter_provider=telemetry.meter_provider,
        logger_provider=telemetry.logger_provider,
    ):
        await Runner.run(reading(6), "read all")
    assert telemetry.exported.get_finished_spans() == ()
    counted = (
        *(names.METRIC_RUN_DURATION, names.METRIC_INFERENCE_DURATION, names.METRIC_TOOL_DURATION),
        *(names.METRIC_COMPACTION_DURATION, names.METRIC_SAVED_TOKENS),
        *(names.METRIC_SUMMARY_INPUT_TOKENS, names.METRIC_REQUEST_SIZE),
    )
    assert [metric for metric in counted if telemetry.total(metric) <= 0] == []
    assert names.EVENT_CONTEXT_COMPACTED in telemetry.events
