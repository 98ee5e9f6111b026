"""What real runs emit, signal by signal: names, types, units, and what carries what."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Sum
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lovia import (
    Agent,
    AutoSummaryStage,
    CheckpointOptions,
    CompactingContextPolicy,
    FileCompactionArchive,
    InMemorySession,
    LLMSummarizer,
    ModelSettings,
    Runner,
    SQLiteCheckpointer,
    events,
    tool,
)
from lovia.errors import MaxTurnsExceeded
from lovia.testing import ScriptedProvider, call, text
from lovia.usage import Usage
from lovia_otel import use_providers
from lovia_otel.content import CaptureMode, ContentSettings, restore_content, set_content
from tests.dashboards import traffic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SPENT: Final = Usage(900, 90, 600, 200, 30)


@dataclass
class Emissions:
    """What was emitted.

    Attributes:
        spans: By the first word of a span's name, its attributes with the values that they had.
        kinds: By the first word of a span's name, its kinds.
        links: By the first word of a span's name, the keys of its links.
        events: By name, its attributes with the values that they had.
        severities: By an event's name, its severities.
        metrics: By name, kind, unit and the keys of its attributes.
    """

    spans: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)
    events: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    severities: dict[str, set[str]] = field(default_factory=dict)
    metrics: dict[str, tuple[str, str, frozenset[str]]] = field(default_factory=dict)


@contextmanager
def collecting() -> Iterator[Emissions]:
    """Collect what the block emits, readable after it."""
    reader, exporter = InMemoryMetricReader(), InMemorySpanExporter()
    logged: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    meters = MeterProvider([reader], shutdown_on_exit=False)
    tracers, loggers = (
        TracerProvider(shutdown_on_exit=False),
        LoggerProvider(shutdown_on_exit=False),
    )
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logged))
    found = Emissions()
    with use_providers(tracer_provider=tracers, meter_provider=meters, logger_provider=loggers):
        yield found
    _read_spans(found, exporter)
    _read_events(found, logged)
    _read_metrics(found, reader)


def _read_spans(found: Emissions, exporter: InMemorySpanExporter) -> None:
    for span in exporter.get_finished_spans():
        name = span.name.split()[0]
        held = found.spans.setdefault(name, defaultdict(list))
        for key, value in (span.attributes or {}).items():
            held[key].append(value)
        found.kinds.setdefault(name, set()).add(span.kind.name.lower())
        keys = [key for link in span.links for key in (link.attributes or {})]
        found.links.setdefault(name, set()).update(keys)


def _read_events(found: Emissions, logged: InMemoryLogRecordExporter) -> None:
    for log in logged.get_finished_logs():
        record = log.log_record
        name = str(record.event_name)
        held = found.events.setdefault(name, defaultdict(list))
        for key, value in (record.attributes or {}).items():
            held[key].append(value)
        found.severities.setdefault(name, set()).add(str(record.severity_text))


def _read_metrics(found: Emissions, reader: InMemoryMetricReader) -> None:
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = "histogram"
                if isinstance(metric.data, Sum):
                    kind = "counter" if metric.data.is_monotonic else "updown"
                points = metric.data.data_points
                keys = {key for point in points for key in (point.attributes or {})}
                found.metrics[metric.name] = (kind, metric.unit or "", frozenset(keys))


# --- what the fleet of the dashboards does not do ---


class _Served(ScriptedProvider):
    base_url = "https://models.example:8443/v1"


@tool
def slowly() -> str:
    """Return more than the tool may."""
    return "word " * 20_000


@tool
def brief() -> str:
    """Return next to nothing."""
    return "ok"


@tool
async def wait() -> str:
    """Wait for longer than anybody does."""
    await anyio.sleep(60)
    return "waited"


async def described(folder: Path) -> None:
    """Make calls with every setting, in a session, with content on all signals."""
    settings = ModelSettings(temperature=0.5, top_p=0.9, max_tokens=100)
    provider = _Served([call("slowly"), text("1")], usage=_SPENT)
    archive = await to_thread.run_sync(FileCompactionArchive, folder / "described")
    policy = CompactingContextPolicy(40_000, archive=archive)
    agent: Agent[Any] = Agent(
        *("described",), model=provider, settings=settings, tools=[slowly], context_policy=policy
    )
    with _everywhere():
        await Runner.run(agent, "go", session=InMemorySession(), session_id="s", output_type=int)
        await traffic.demo(folder / "captured")
        for work in (traffic.stages_failed, traffic.made_larger, traffic.stopped_by_timeout):
            await work(folder)


async def resumed(folder: Path) -> None:
    """Go on with a saved run."""
    store = await to_thread.run_sync(SQLiteCheckpointer, folder / "resumed.db")
    saved = CheckpointOptions(store, "resumed")
    script = [call("look"), call("look"), text("done")]
    provider = ScriptedProvider(script, usage=_SPENT)
    agent: Agent[Any] = Agent("resumed", model=provider, tools=[traffic.look])
    try:
        await Runner.run(agent, "go", checkpoint=saved, max_turns=1)
    except MaxTurnsExceeded:
        await Runner.run(agent, "go", checkpoint=saved, max_turns=5)
    await store.aclose()


async def stopped(folder: Path) -> None:
    """Stop runs while they compact, and while a tool runs."""

    async def stop(agent: Agent[Any], at: type[events.Event]) -> None:
        where: Any = {"session": InMemorySession(), "session_id": "stopped", "max_turns": 30}
        handle = Runner.stream(agent, "go", **where)
        async with handle:
            async for event in handle:
                if isinstance(event, at):
                    handle.cancel("user")

    policy = CompactingContextPolicy(4_000, stages=[AutoSummaryStage(LLMSummarizer())])
    turns = [call("look") for _ in range(20)]
    provider = ScriptedProvider([*turns, text("done")], usage=_SPENT, summarize="## Goal\ngo\n")
    agent: Agent[Any] = Agent(
        "stopped", model=provider, tools=[traffic.look], context_policy=policy
    )
    await stop(agent, events.CompactionStarted)
    waiting: Agent[Any] = Agent(
        "waiting", model=ScriptedProvider([call("wait")], usage=_SPENT), tools=[wait]
    )
    await stop(waiting, events.ToolCallStarted)


async def put_off(folder: Path) -> None:
    """Go on above the trigger, where compaction gains nothing."""
    policy = CompactingContextPolicy(4_000, pinned=lambda entry: True)
    provider = ScriptedProvider([*[call("brief")] * 6, text("done")], usage="counted")
    await _in_session("full", provider, policy, brief, said="word " * 2_900)


async def folded_and_failed(folder: Path) -> None:
    """Have stages work and fail within a session."""
    for stage in (AutoSummaryStage(LLMSummarizer()), traffic.RaisingStage()):
        policy = CompactingContextPolicy(2_500, stages=[stage], keep_recent_entries=4)
        script = [*[call("look")] * 10, text("done")]
        provider = ScriptedProvider(script, usage="counted", summarize="## Goal\ngo\n")
        await _in_session("folding", provider, policy, traffic.look)


async def in_a_session(folder: Path) -> None:
    """Hand over, fail, archive and save within a session."""
    store = await to_thread.run_sync(SQLiteCheckpointer, folder / "session.db")
    saved = CheckpointOptions(store, "session")
    other: Agent[Any] = Agent("other", model=ScriptedProvider([text("done")], usage=_SPENT))
    script = [call("slowly"), call("transfer_to_other")]
    archive = await to_thread.run_sync(FileCompactionArchive, folder / "session")
    agent: Agent[Any] = Agent(
        "first",
        model=ScriptedProvider(script, usage=_SPENT),
        handoffs=[other],
        tools=[slowly],
        context_policy=CompactingContextPolicy(40_000, archive=archive),
    )
    where: Any = {"session": InMemorySession(), "session_id": "s", "checkpoint": saved}
    try:
        await Runner.run(agent, "go", max_turns=1, **where)
    except MaxTurnsExceeded:
        await Runner.run(agent, "go", max_turns=5, **where)
    await store.aclose()


async def everything(folder: Path) -> None:
    """Let the fleet do its work, and what else there is."""
    await traffic.everything(folder)
    with traffic.priced():
        for work in (described, resumed, stopped, put_off, folded_and_failed, in_a_session):
            await work(folder)


async def _in_session(
    name: str, provider: ScriptedProvider, policy: Any, used: Any, said: str = "go"
) -> None:
    agent: Agent[Any] = Agent(name, model=provider, tools=[used], context_policy=policy)
    await Runner.run(agent, said, session=InMemorySession(), session_id=name, max_turns=20)


@contextmanager
def _everywhere() -> Iterator[None]:
    settings = ContentSettings(CaptureMode.SPAN_AND_EVENT)
    previous = set_content(settings)
    try:
        yield
    finally:
        restore_content(settings, previous)
