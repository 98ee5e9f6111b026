"""A Collector that dies in the middle of a run costs the run nothing."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lovia import Agent, AutoSummaryStage, CompactingContextPolicy, LLMSummarizer, Runner, tool
from lovia.testing import ScriptedProvider, batch, text
from lovia_otel import configure
from tests.backends.stack import Collector
from tests.backends.waiting import eventually
from tests.dashboards import traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lovia_otel import TelemetryHandle
    from tests.backends.servers import Server
    from tests.backends.stack import Stack

_TURNS = 8
_DEATH = 4  # the turn in which the Collector dies


class Witness:
    """Keeps all spans and log records that were made, whoever else gets them."""

    def __init__(self, handle: TelemetryHandle) -> None:
        self._spans = InMemorySpanExporter()
        self._records = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        tracers: Any = handle.tracer_provider
        loggers: Any = handle.logger_provider
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._records))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._spans.get_finished_spans()) + len(self._records.get_finished_logs())


async def run(on_turn: Callable[[int], None]) -> tuple[str, list[Any]]:
    """Run an agent whose history is compacted; return its answer and its transcript."""
    turn = 0

    @tool
    def look() -> str:
        """Look at something."""
        nonlocal turn
        turn += 1
        on_turn(turn)
        return "seen " * 600

    script = [*(batch(("look", {})) for _ in range(_TURNS)), text("done")]
    stages = [AutoSummaryStage(LLMSummarizer())]
    agent = Agent(
        name="steady",
        model=ScriptedProvider(script, summarize=lambda request: "Looked around."),
        tools=[look],
        context_policy=CompactingContextPolicy(4_000, keep_recent_entries=4, stages=stages),
    )
    result = await Runner.run(agent, "go")
    return str(result.output), list(result.entries)


@contextmanager
def _quick_exports() -> Iterator[None]:
    """Give up on a receiver that is down after half a second, and export only when told to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
        patch.setenv("OTEL_BLRP_SCHEDULE_DELAY", "600000")
        yield


@pytest.fixture
def mortal(stack: Stack) -> Iterator[tuple[Collector, Server]]:
    """A Collector of a test's own, in front of the same backends."""
    collector = _collector(stack)
    with collector.server() as server:
        yield collector, server


def _collector(stack: Stack, wait: str = "1s") -> Collector:
    backends = (stack.jaeger.otlp, stack.prometheus.otlp, stack.collector.logs)
    return Collector(stack.folder / "mortal", *backends, wait=wait)


def test_a_collector_that_dies_costs_a_run_nothing(
    mortal: tuple[Collector, Server], stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    """Result and transcript are the same; losses are counted; telemetry flows after a restart."""
    collector, server = mortal
    undisturbed = anyio.run(run, lambda turn: None)

    with (
        caplog.at_level(logging.CRITICAL, logger="opentelemetry"),
        _quick_exports(),
        configure(collector.url, "survivor", set_global=False) as handle,
    ):
        witness = Witness(handle)
        delivered = 0

        def die(turn: int) -> None:
            nonlocal delivered
            if turn == _DEATH:
                assert handle.flush()
                delivered = witness.count
                server.kill()

        assert anyio.run(run, die) == undisturbed
        assert 0 < delivered < witness.count

        handle.flush()  # to nobody
        lost = witness.count - delivered
        server.start()
        assert anyio.run(run, lambda turn: None) == undisturbed
        assert handle.flush()

    expr = 'sum(lovia_telemetry_dropped_events_total{job="survivor"})'
    eventually(lambda: stack.prometheus.values(expr), lambda found: found == [lost])
    # Metrics are cumulative: nothing is missing from them.
    runs = 'sum(gen_ai_invoke_agent_duration_seconds_count{job="survivor"})'
    assert stack.prometheus.values(runs) == [2]


def test_telemetry_flows_again(mortal: tuple[Collector, Server], stack: Stack) -> None:
    """A Collector that is there again takes what comes, without a new configuration."""
    collector, server = mortal
    with _quick_exports(), configure(collector.url, "returned", set_global=False) as handle:
        server.kill()
        server.start()
        anyio.run(run, lambda turn: None)
        assert handle.flush()
    runs = 'sum(gen_ai_invoke_agent_duration_seconds_count{job="returned"})'
    eventually(lambda: stack.prometheus.values(runs), lambda found: found == [1])
    assert "otelcol_receiver_accepted_spans" in collector.own_metrics()


def test_a_collector_that_is_ended_delivers_what_it_holds(stack: Stack, folder: Path) -> None:
    """With SIGTERM it judges the traces that wait for its decision, and sends what is kept."""
    collector = _collector(stack, wait="600s")
    with collector.server():
        with configure(collector.url, "ended", set_global=False) as handle:
            anyio.run(traffic.failed, folder)
            assert handle.flush()
        assert stack.jaeger.traces("ended") == []
    eventually(lambda: stack.jaeger.traces("ended"))
