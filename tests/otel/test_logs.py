"""Log events: their names, severities and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry._logs import SeverityNumber
from opentelemetry.trace import set_span_in_context

from lovia_otel import logs, names
from lovia_otel.logs import Actor, Moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.otel.conftest import Telemetry

ACTOR = Actor(agent="a", run_id="r", session_id="s")
INFO, DEBUG, WARN = SeverityNumber.INFO, SeverityNumber.DEBUG, SeverityNumber.WARN

EVENTS: list[tuple[Callable[..., None], str, SeverityNumber, dict[str, Any], dict[str, Any]]] = [
    (
        logs.compaction_started,
        names.EVENT_COMPACTION_STARTED,
        INFO,
        {"pass_id": "p1", "policy": "P", "trigger": "threshold", "tokens_before": 10},
        {
            names.COMPACTION_ID: "p1",
            names.COMPACTION_POLICY: "P",
            names.COMPACTION_TRIGGER: "threshold",
            names.COMPACTION_TOKENS_BEFORE: 10,
        },
    ),
    (
        logs.compaction_fold,
        names.EVENT_COMPACTION_FOLD,
        DEBUG,
        {"pass_id": "p1", "index": 0, "planned": 3, "input_tokens": 5, "output_tokens": 1},
        {
            names.COMPACTION_ID: "p1",
            names.CHUNK_INDEX: 0,
            names.CHUNK_PLANNED: 3,
            names.COMPACTION_SUMMARY_INPUT_TOKENS: 5,
            names.COMPACTION_SUMMARY_OUTPUT_TOKENS: 1,
        },
    ),
    (
        logs.context_measured,
        names.EVENT_CONTEXT_MEASURED,
        INFO,
        {"pass_id": "p1", "tokens_measured": 99, "tokens_after": 90, "model": "m"},
        {
            names.COMPACTION_ID: "p1",
            names.COMPACTION_TOKENS_MEASURED: 99,
            names.COMPACTION_TOKENS_AFTER: 90,
            names.REQUEST_MODEL: "m",
        },
    ),
    (
        logs.compaction_skipped,
        names.EVENT_COMPACTION_SKIPPED,
        DEBUG,
        {"reason": "breaker open", "policy": "P"},
        {names.COMPACTION_SKIP_REASON: "breaker open", names.COMPACTION_POLICY: "P"},
    ),
    (
        logs.run_cancelled,
        names.EVENT_RUN_CANCELLED,
        INFO,
        {"reason": "user", "checkpoint": "fold", "checkpoints": 4},
        {
            names.CANCELLATION_REASON: "user",
            names.CANCELLATION_CHECKPOINT: "fold",
            names.CANCELLATION_CHECKPOINTS: 4,
        },
    ),
    (logs.run_resumed, names.EVENT_RUN_RESUMED, INFO, {"turns": 2}, {names.RUN_TURNS: 2}),
    (
        logs.checkpoint_saved,
        names.EVENT_CHECKPOINT_SAVED,
        INFO,
        {"store": "sqlite", "sequence": 1, "size": 10, "entries": 2, "status": "running"},
        {
            names.CHECKPOINT_STORE: "sqlite",
            names.CHECKPOINT_SEQUENCE: 1,
            names.CHECKPOINT_SIZE: 10,
            names.CHECKPOINT_ENTRIES: 2,
            names.CHECKPOINT_STATUS: "running",
        },
    ),
    (
        logs.agent_handoff,
        names.EVENT_AGENT_HANDOFF,
        INFO,
        {"source": "a", "target": "b", "pending": True},
        {
            names.HANDOFF_SOURCE: "a",
            names.HANDOFF_TARGET: "b",
            names.HANDOFF_PENDING: True,
        },
    ),
    (
        logs.archive_written,
        names.EVENT_ARCHIVE_WRITTEN,
        DEBUG,
        {"store": "file", "size": 10, "entries": 1, "ref": lambda: "/home/ann/x"},
        {names.ARCHIVE_STORE: "file", names.ARCHIVE_SIZE: 10, names.ARCHIVE_ENTRIES: 1},
    ),
]


@pytest.mark.parametrize(
    ("emit", "name", "severity", "arguments", "facts"), EVENTS, ids=[e[1] for e in EVENTS]
)
def test_an_event_carries_its_facts_and_its_actor(
    telemetry: Telemetry,
    emit: Callable[..., None],
    name: str,
    severity: SeverityNumber,
    arguments: dict[str, Any],
    facts: dict[str, Any],
) -> None:
    """Each event has the contract's name and severity, what it tells, and whom it is about."""
    emit(**arguments, actor=ACTOR)
    event = telemetry.events[name]
    assert event.severity_number is severity
    assert event.severity_text == severity.name
    who = {names.AGENT_NAME: "a", names.RUN_ID: "r", names.CONVERSATION_ID: "s"}
    assert dict(event.attributes or {}) == {**who, **facts}


@pytest.mark.parametrize(("mode", "shown"), [("SPAN_ONLY", False), ("EVENT_ONLY", True)])
def test_events_hold_content_only_when_events_may(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, mode: str, shown: bool
) -> None:
    """Summaries, exception texts and paths are content."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, mode)
    logs.context_compacted(facts={}, summary=lambda: "secret summary")
    logs.compaction_exception(ValueError("secret text"), stage="auto_summary")
    logs.archive_written(store="file", ref=lambda: "/secret/path")
    held = {
        names.EVENT_CONTEXT_COMPACTED: names.SUMMARY_TEXT,
        names.EVENT_COMPACTION_EXCEPTION: names.EXCEPTION_MESSAGE,
        names.EVENT_ARCHIVE_WRITTEN: names.ARCHIVE_REF,
    }
    for event, key in held.items():
        attributes = telemetry.events[event].attributes or {}
        assert (key in attributes) == shown
        assert ("secret" in repr(dict(attributes))) == shown


def test_a_handled_exception_is_a_warning(telemetry: Telemetry) -> None:
    """The type of what failed is known without content."""
    logs.compaction_exception(KeyError("k"), pass_id="p1", stage="middle_snip")
    event = telemetry.events[names.EVENT_COMPACTION_EXCEPTION]
    assert event.severity_number is WARN
    assert dict(event.attributes or {}) == {
        names.COMPACTION_ID: "p1",
        names.COMPACTION_STAGE: "middle_snip",
        names.EXCEPTION_TYPE: "KeyError",
    }


def test_an_event_may_tell_of_another_moment(telemetry: Telemetry) -> None:
    """Context and time are those handed over, for a caller that emits later."""
    span = telemetry.tracer_provider.get_tracer("app").start_span("then")
    logs.run_resumed(at=Moment(context=set_span_in_context(span), timestamp=123))
    event = telemetry.events[names.EVENT_RUN_RESUMED]
    assert event.timestamp == 123
    assert event.span_id == span.get_span_context().span_id


def test_an_event_has_a_time(telemetry: Telemetry) -> None:
    """Without a time of its own an event happened now."""
    logs.run_resumed()
    assert (telemetry.events[names.EVENT_RUN_RESUMED].timestamp or 0) > 10**18


def test_content_that_cannot_be_built_does_not_cost_its_event(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The facts are emitted, the content is not, and the loss is counted."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "EVENT_ONLY")
    facts = {names.COMPACTION_OUTCOME: "compacted"}
    logs.context_compacted(facts=facts, summary=lambda: str(1 / 0))
    attributes = telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {}
    assert attributes[names.COMPACTION_OUTCOME] == "compacted"
    assert names.SUMMARY_TEXT not in attributes
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1


@pytest.mark.usefixtures("no_sdk")
def test_without_an_sdk_nothing_is_emitted() -> None:
    """No logger, no harm."""
    logs.run_resumed(turns=1)
    logs.context_compacted(facts={})
