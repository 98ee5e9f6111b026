"""Events become telemetry, once, and the run never waits for it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

from lovia import Agent, AgentHooks, CompactingContextPolicy, Handoff, RunCancelled, Runner, tool
from lovia.context import ContextPolicyResult
from lovia.events import (
    CompactionEnded,
    CompactionStarted,
    ContextCompacted,
    HandoffOccurred,
    RunFailed,
    RunStarted,
    SummaryFoldCompleted,
)
from lovia.events.facts import StageRecord
from lovia.testing import ScriptedProvider, call, text
from lovia.usage import Usage
from lovia_otel import EventBridge, names, observe, use_providers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.otel.conftest import Telemetry

DEFAULT: Any = object()


@pytest.fixture
def bridge() -> Iterator[EventBridge]:
    """A bridge that ends with the test."""
    made = EventBridge()
    yield made
    assert made.close()


@dataclass
class Context:
    """What a source hands its handlers, as far as the bridge looks at it."""

    agent: Any
    run_id: str = "r1"
    session_id: str = "s1"
    turn: int = 3


CTX = Context(Agent(name="a"))


def tell(bridge: EventBridge, event: object, ctx: object = CTX) -> None:
    """Give the bridge an event and wait until it is told."""
    bridge(event, ctx)
    assert bridge.flush()


# --- lovia's own events, from a source that opens no scopes ---


def compacted(**changes: Any) -> ContextCompacted:
    """Make an event of a pass that took off 400 of 1000 tokens."""
    plain: dict[str, Any] = {
        "session_id": "s1",
        "entries_before": ["secret", "secret", "secret"],
        "entries_after": ["secret"],
        "summary": "secret",
        "reason": "auto_summary",
        "tokens_before_estimate": 1000,
        "tokens_after_estimate": 600,
        "history_tokens_estimate": 5000,
        "outcome": "partial",
        "stages": (
            StageRecord("middle_snip", "failed", 1000, 1000),
            StageRecord("auto_summary", "applied", 1000, 600, "secret", 0.2),
        ),
        "usage": Usage(input_tokens=80, output_tokens=9),
        "pass_id": "p1",
    }
    return ContextCompacted(**{**plain, **changes})


def test_a_compaction_is_told_with_all_its_numbers(
    telemetry: Telemetry, bridge: EventBridge
) -> None:
    """The log event has what the pass did and whom it is about, and none of what was said."""
    tell(bridge, compacted())
    event = telemetry.events[names.EVENT_CONTEXT_COMPACTED]
    assert dict(event.attributes or {}) == {
        names.AGENT_NAME: "a",
        names.RUN_ID: "r1",
        names.CONVERSATION_ID: "s1",
        names.COMPACTION_ID: "p1",
        names.COMPACTION_OUTCOME: "partial",
        names.COMPACTION_REASON: "auto_summary",
        names.COMPACTION_REACTIVE: False,
        names.CONTEXT_HISTORY_TOKENS: 5000,
        names.COMPACTION_TOKENS_BEFORE: 1000,
        names.COMPACTION_TOKENS_AFTER: 600,
        names.COMPACTION_TOKENS_FREED: 400,
        names.COMPACTION_ENTRIES_BEFORE: 3,
        names.COMPACTION_ENTRIES_AFTER: 1,
        names.COMPACTION_STAGES: ("middle_snip", "auto_summary"),
        names.COMPACTION_STAGE_OUTCOMES: ("failed", "applied"),
        names.COMPACTION_SUMMARY_INPUT_TOKENS: 80,
        names.COMPACTION_SUMMARY_OUTPUT_TOKENS: 9,
    }
    assert telemetry.total(names.METRIC_COMPACTION_REDUCTION) == 0.4
    assert telemetry.total(names.METRIC_FREED_TOKENS) == 400
    assert telemetry.total(names.METRIC_SUMMARY_INPUT_TOKENS) == 80


def test_growth_has_its_own_outcome_and_counter(telemetry: Telemetry, bridge: EventBridge) -> None:
    """A source that says no outcome of a larger view has inflated it."""
    tell(bridge, compacted(tokens_after_estimate=1300, outcome=None, reactive=True))
    attributes = telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {}
    assert attributes[names.COMPACTION_OUTCOME] == "inflated"
    assert attributes[names.COMPACTION_TRIGGER] == "overflow"
    assert telemetry.total(names.METRIC_INFLATED_TOKENS) == 300
    assert telemetry.points(names.METRIC_COMPACTION_REDUCTION) == []


def test_a_pass_can_be_watched_and_timed(telemetry: Telemetry, bridge: EventBridge) -> None:
    """Begin and folds are told as they happen, the end with its outcome and duration."""
    bridge(CompactionStarted("p1", "entries", 900, "s1"), CTX)
    bridge(SummaryFoldCompleted(1, 4, Usage(input_tokens=5, output_tokens=1), "p1"), CTX)
    tell(bridge, CompactionEnded("noop", "p1", 900))
    started = telemetry.events[names.EVENT_COMPACTION_STARTED].attributes or {}
    fold = telemetry.events[names.EVENT_COMPACTION_FOLD].attributes or {}
    ended = telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {}
    assert started[names.COMPACTION_TRIGGER] == ended[names.COMPACTION_TRIGGER] == "entries"
    assert (fold[names.CHUNK_INDEX], fold[names.CHUNK_PLANNED]) == (0, 4)
    assert ended[names.COMPACTION_OUTCOME] == "noop"
    assert telemetry.keys(names.METRIC_COMPACTION_DURATION) == {
        names.AGENT_NAME: "a",
        names.COMPACTION_TRIGGER: "entries",
        names.COMPACTION_OUTCOME: "noop",
    }


def test_a_useful_pass_is_told_once(telemetry: Telemetry, bridge: EventBridge) -> None:
    """The event of a view that changed tells more than that of the end, which adds its time."""
    bridge(CompactionStarted("p1", "threshold", 1000, "s1"), CTX)
    bridge(CompactionEnded("compacted", "p1", 600), CTX)
    tell(bridge, compacted(outcome="compacted"))
    told = [log.log_record.event_name for log in telemetry.logged.get_finished_logs()]
    assert told.count(names.EVENT_CONTEXT_COMPACTED) == 1
    (point,) = telemetry.points(names.METRIC_COMPACTION_DURATION)
    assert point.count == 1


def test_handoffs_resumptions_and_cancellations_are_told(
    telemetry: Telemetry, bridge: EventBridge
) -> None:
    """What happens to a run is told with its reason, and counted."""
    agent = Agent(name="a")
    bridge(RunStarted(agent, run_id="r9", session_id="s9", resumed=True), CTX)
    bridge(HandoffOccurred(agent, Agent(name="b")), CTX)
    tell(bridge, RunFailed(RunCancelled("stop", reason="timeout", checkpoint="fold")))
    resumed = telemetry.events[names.EVENT_RUN_RESUMED].attributes or {}
    assert (resumed[names.RUN_ID], resumed[names.RUN_TURNS]) == ("r9", 3)
    handoff = telemetry.events[names.EVENT_AGENT_HANDOFF].attributes or {}
    assert (handoff[names.HANDOFF_SOURCE], handoff[names.HANDOFF_TARGET]) == ("a", "b")
    cancelled = telemetry.events[names.EVENT_RUN_CANCELLED].attributes or {}
    assert cancelled[names.CANCELLATION_REASON] == "timeout"
    assert cancelled[names.CANCELLATION_CHECKPOINT] == "fold"
    assert telemetry.total(names.METRIC_HANDOFFS) == telemetry.total(names.METRIC_CANCELLATIONS)


def test_other_ends_and_beginnings_are_no_events(telemetry: Telemetry, bridge: EventBridge) -> None:
    """A run that starts afresh or fails for another reason has nothing to tell here."""
    bridge(RunStarted(Agent(name="a"), run_id="r9"), CTX)
    tell(bridge, RunFailed(ValueError("secret")))
    assert telemetry.events == {}


# --- events of other sources, known by their names ---


def _event(class_name: str, **attributes: Any) -> object:
    """Make an event of some other package."""
    return type(class_name, (), attributes)()


@dataclass
class OldNotice:
    """What the 0.9 line keeps of a compaction."""

    reason: str = "offload+summary"
    reactive: bool = True
    summary: str | None = "secret"
    tokens_before: int | None = 2601
    tokens_after: int | None = 1030
    detail: list[str] = field(default_factory=list)


def test_an_event_of_the_old_line_tells_its_notice(
    telemetry: Telemetry, bridge: EventBridge
) -> None:
    """Sizes, reason and cause are found where that line keeps them."""
    event = _event(
        "ContextCompacted",
        session_id="s1",
        entries_before=["secret"] * 7,
        entries_after=["secret"] * 3,
        notice=OldNotice(),
    )
    tell(bridge, event)
    attributes = telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {}
    assert (
        attributes.items()
        >= {
            names.COMPACTION_REASON: "offload+summary",
            names.COMPACTION_REACTIVE: True,
            names.COMPACTION_TOKENS_FREED: 1571,
            names.COMPACTION_ENTRIES_BEFORE: 7,
            names.COMPACTION_OUTCOME: "compacted",
        }.items()
    )


@pytest.mark.parametrize(
    ("event", "name", "attributes"),
    [
        (
            _event("CheckpointSaved", store="sqlite", sequence=4, size=90, entries=3),
            names.EVENT_CHECKPOINT_SAVED,
            {names.CHECKPOINT_STORE: "sqlite", names.CHECKPOINT_SEQUENCE: 4},
        ),
        (
            _event("ArchiveWritten", store="file", size=90, entries=3, uri="/secret/x"),
            names.EVENT_ARCHIVE_WRITTEN,
            {names.ARCHIVE_STORE: "file", names.ARCHIVE_ENTRIES: 3},
        ),
        (
            _event("CompactionSkipped", reason="resting", policy="P"),
            names.EVENT_COMPACTION_SKIPPED,
            {names.COMPACTION_SKIP_REASON: "resting", names.COMPACTION_POLICY: "P"},
        ),
    ],
    ids=["checkpoint", "archive", "skipped"],
)
def test_kin_of_any_source_are_told(
    telemetry: Telemetry,
    bridge: EventBridge,
    event: object,
    name: str,
    attributes: dict[str, Any],
) -> None:
    """An event is known by its class's name, whatever package it comes from."""
    tell(bridge, event)
    told = dict(telemetry.events[name].attributes or {})
    assert told.items() >= attributes.items()
    assert "secret" not in repr(told)


@pytest.mark.parametrize(
    "event",
    [None, object(), "text", _event("ContextCompacted")],
    ids=["none", "object", "text", "event"],
)
def test_anything_can_be_given(telemetry: Telemetry, bridge: EventBridge, event: object) -> None:
    """What is no event, or one without its facts, raises nothing; a context is not needed."""
    tell(bridge, event, None)


def test_hostile_events_cost_themselves_alone(telemetry: Telemetry, bridge: EventBridge) -> None:
    """An event whose attributes raise is dropped and counted, and the next one is told."""

    class ContextCompacted:
        @property
        def entries_before(self) -> list[Any]:
            raise RuntimeError("no")

    bridge(ContextCompacted(), CTX)
    tell(bridge, compacted())
    assert names.EVENT_CONTEXT_COMPACTED in telemetry.events
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1


# --- with a runtime that records itself ---


class Half:
    """A policy that leaves the older half away."""

    async def apply(self, entries: list[Any], *, ctx: Any) -> ContextPolicyResult:
        """Leave out all but the first and the newest."""
        view = [entries[0], *entries[-1:]] if len(entries) > 2 else entries
        return ContextPolicyResult(view, changed=len(entries) > 2)


@tool
async def look(what: str) -> str:
    """Look something up."""
    return f"secret {what} " * 200


async def _run(hooks: AgentHooks, policy: Any) -> None:
    last = Agent(name="b", model=ScriptedProvider([text("end")]), hooks=hooks)
    script = [call("look", {"what": str(n)}) for n in range(4)]
    agent = Agent(
        name="a",
        model=ScriptedProvider([*script, call("transfer_to_b", {})]),
        tools=[look],
        handoffs=[Handoff(last)],
        hooks=hooks,
        context_policy=policy,
    )
    await Runner.run(agent, "go", session_id="s1")


@pytest.mark.anyio
@pytest.mark.parametrize(
    "policy",
    [
        lambda: CompactingContextPolicy(
            context_window_tokens=1500, keep_recent_tool_results=1, max_entries=4
        ),
        lambda: observe(Half()),
        Half,
    ],
    ids=["own", "observed", "another's"],
)
async def test_nothing_is_told_twice(
    telemetry: Telemetry, bridge: EventBridge, policy: Callable[[], Any]
) -> None:
    """A bridge beside a runtime that records itself adds what nobody else tells, and only that."""
    hooks, seen = AgentHooks(), []
    hooks.on_any(bridge)
    hooks.on(ContextCompacted)(lambda event, _: seen.append(event))
    await _run(hooks, policy())
    assert bridge.flush()
    told = [log.log_record for log in telemetry.logged.get_finished_logs()]
    applied = [
        record
        for record in told
        if record.event_name == names.EVENT_AGENT_HANDOFF
        and not (record.attributes or {}).get(names.HANDOFF_PENDING)
    ]
    changed = [
        record
        for record in told
        if record.event_name == names.EVENT_CONTEXT_COMPACTED
        and (record.attributes or {})[names.COMPACTION_OUTCOME] in {"compacted", "partial"}
    ]
    assert seen
    lengths = [(record.attributes or {})[names.COMPACTION_ENTRIES_BEFORE] for record in changed]
    assert len(lengths) == len(set(lengths)) >= len(seen)
    assert len(applied) == 1
    assert telemetry.total(names.METRIC_HANDOFFS) == 1


# --- the queue ---


class _Stuck:
    """An exporter that is stuck until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.taken = 0

    def export(self, batch: Any) -> Any:
        """Wait."""
        self.go.wait(10)
        self.taken += len(batch)

    def shutdown(self) -> None:
        """Do nothing."""


def test_a_stuck_exporter_holds_nobody_up(telemetry: Telemetry) -> None:
    """The run goes on at once; what does not fit into the queue is dropped and counted."""
    exporter: Any = _Stuck()
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    with use_providers(meter_provider=telemetry.meter_provider, logger_provider=loggers):
        bridge = EventBridge(max_waiting=10)
        event = compacted()
        started = time.perf_counter()
        for _ in range(1000):
            bridge(event, CTX)
        assert time.perf_counter() - started < 2
        assert not bridge.flush(0.01)
        assert bridge.dropped >= 988  # ten wait and one is stuck
        assert telemetry.total(names.METRIC_DROPPED_EVENTS) == bridge.dropped
        exporter.go.set()
        assert bridge.close()
        assert exporter.taken + bridge.dropped == 1000


def test_without_an_sdk_nothing_is_queued(no_sdk: None) -> None:
    """A bridge to nowhere starts no thread."""
    bridge = EventBridge()
    bridge(compacted(), CTX)
    assert bridge._thread is None
    assert bridge.dropped == 0


def test_a_closed_bridge_passes_events_over(telemetry: Telemetry) -> None:
    """What was taken before is told, what comes later is not."""
    bridge = EventBridge()
    bridge(compacted(), CTX)
    assert bridge.close()
    bridge(HandoffOccurred(Agent(name="a"), Agent(name="b")), CTX)
    assert bridge.flush()
    assert set(telemetry.events) == {names.EVENT_CONTEXT_COMPACTED}
