"""Passes, stages and folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import StatusCode

from lovia_otel import chat_scope, fold_scope, names, pass_scope, run_scope, stage_scope

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


def compaction(**changes: Any) -> Any:
    """Make the scope of a pass that differs in `changes` from a plain one."""
    plain = {
        "policy": "CompactingContextPolicy",
        "trigger": "threshold",
        "pass_id": "p1",
        "agent": "a",
        "session_id": "s",
        "model": "gpt",
        "provider": "openai",
        "tokens_before": 1000,
        "entries_before": 40,
        "tokens_target": 600,
        "window_tokens": 1200,
        "history_tokens": 5000,
    }
    return pass_scope(**{**plain, **changes})


def test_a_pass_shows_why_it_runs_and_what_it_did(telemetry: Telemetry) -> None:
    """The request before is known at the start; the rest is settled."""
    with compaction() as scope:
        scope.settle(
            outcome="compacted",
            reason="auto_summary",
            tokens_after=500,
            entries_after=12,
            tokens_freed=500,
            stages=["middle_snip", "auto_summary"],
            chunks=3,
            chunks_folded=2,
            summary_calls=4,
            summary_input_tokens=900,
            summary_output_tokens=80,
            identifiers_kept=7,
            identifiers_total=9,
            checkpoints=5,
        )
    assert telemetry.attributes("compact_context") == {
        names.OPERATION_NAME: "compact_context",
        names.AGENT_NAME: "a",
        names.CONVERSATION_ID: "s",
        names.REQUEST_MODEL: "gpt",
        names.PROVIDER_NAME: "openai",
        names.COMPACTION_POLICY: "CompactingContextPolicy",
        names.COMPACTION_TRIGGER: "threshold",
        names.COMPACTION_ID: "p1",
        names.COMPACTION_TOKENS_BEFORE: 1000,
        names.COMPACTION_ENTRIES_BEFORE: 40,
        names.COMPACTION_TOKENS_TARGET: 600,
        names.CONTEXT_WINDOW_TOKENS: 1200,
        names.CONTEXT_HISTORY_TOKENS: 5000,
        names.COMPACTION_OUTCOME: "compacted",
        names.COMPACTION_REASON: "auto_summary",
        names.COMPACTION_TOKENS_AFTER: 500,
        names.COMPACTION_ENTRIES_AFTER: 12,
        names.COMPACTION_TOKENS_FREED: 500,
        names.COMPACTION_STAGES: ("middle_snip", "auto_summary"),
        names.COMPACTION_CHUNKS: 3,
        names.COMPACTION_CHUNKS_FOLDED: 2,
        names.COMPACTION_SUMMARY_CALLS: 4,
        names.COMPACTION_SUMMARY_INPUT_TOKENS: 900,
        names.COMPACTION_SUMMARY_OUTPUT_TOKENS: 80,
        names.COMPACTION_IDENTIFIERS_KEPT: 7,
        names.COMPACTION_IDENTIFIERS_TOTAL: 9,
        names.CANCELLATION_CHECKPOINTS: 5,
    }


def test_a_pass_is_measured(telemetry: Telemetry) -> None:
    """Duration, reduction, chunks and the summary's cost each carry their keys, and no ids."""
    with compaction() as scope:
        scope.settle(
            outcome="compacted",
            tokens_freed=400,
            chunks=3,
            chunks_folded=2,
            summary_input_tokens=900,
            summary_output_tokens=80,
        )
    assert telemetry.keys(names.METRIC_COMPACTION_DURATION) == {
        names.AGENT_NAME: "a",
        names.COMPACTION_POLICY: "CompactingContextPolicy",
        names.COMPACTION_TRIGGER: "threshold",
        names.COMPACTION_OUTCOME: "compacted",
    }
    assert telemetry.total(names.METRIC_COMPACTION_REDUCTION) == 0.4
    assert telemetry.total(names.METRIC_COMPACTION_CHUNKS) == 2
    assert telemetry.total(names.METRIC_SUMMARY_INPUT_TOKENS) == 900
    assert telemetry.total(names.METRIC_SUMMARY_OUTPUT_TOKENS) == 80
    assert telemetry.keys(names.METRIC_SUMMARY_INPUT_TOKENS) == {
        names.AGENT_NAME: "a",
        names.REQUEST_MODEL: "gpt",
        names.PROVIDER_NAME: "openai",
    }


@pytest.mark.parametrize("outcome", names.PASS_OUTCOMES)
def test_every_outcome_of_a_pass_is_told_apart(telemetry: Telemetry, outcome: str) -> None:
    """Span and metric carry the outcome; failed and cancelled alone are errors."""
    with compaction() as scope:
        scope.settle(outcome=outcome)
    span = telemetry.spans["compact_context"]
    assert dict(span.attributes or {})[names.COMPACTION_OUTCOME] == outcome
    assert telemetry.keys(names.METRIC_COMPACTION_DURATION)[names.COMPACTION_OUTCOME] == outcome
    failed = outcome in {"failed", "cancelled"}
    assert (span.status.status_code is StatusCode.ERROR) == failed


@pytest.mark.parametrize("outcome", ["noop", "inflated", "failed", "cancelled"])
def test_a_pass_that_was_not_used_reduced_nothing(telemetry: Telemetry, outcome: str) -> None:
    """Reduction is measured for useful passes only."""
    with compaction() as scope:
        scope.settle(outcome=outcome, tokens_freed=0)
    assert telemetry.points(names.METRIC_COMPACTION_REDUCTION) == []


def test_a_stage_shows_what_it_did(telemetry: Telemetry) -> None:
    """A stage's span is named after it and carries its sizes and its remark."""
    with stage_scope(stage="middle_snip", index=1, tokens_before=1000) as stage:
        stage.settle(outcome="applied", tokens_after=700, entries_after=30, note="10 entries")
    assert telemetry.attributes("compact_context.stage middle_snip") == {
        names.COMPACTION_STAGE: "middle_snip",
        names.COMPACTION_STAGE_INDEX: 1,
        names.COMPACTION_TOKENS_BEFORE: 1000,
        names.COMPACTION_OUTCOME: "applied",
        names.COMPACTION_TOKENS_AFTER: 700,
        names.COMPACTION_ENTRIES_AFTER: 30,
        names.COMPACTION_NOTE: "10 entries",
    }
    keys = {names.COMPACTION_STAGE: "middle_snip", names.COMPACTION_OUTCOME: "applied"}
    assert telemetry.keys(names.METRIC_STAGE_DURATION) == keys
    assert telemetry.keys(names.METRIC_FREED_TOKENS) == keys
    assert telemetry.total(names.METRIC_FREED_TOKENS) == 300


@pytest.mark.parametrize("outcome", ["noop", "skipped", "refused"])
def test_a_stage_whose_result_was_not_used_freed_nothing(
    telemetry: Telemetry, outcome: str
) -> None:
    """Freed tokens are those of applied stages, and the others are no errors."""
    with stage_scope(stage="s", index=0, tokens_before=1000) as stage:
        stage.settle(outcome=outcome, tokens_after=100)
    assert telemetry.points(names.METRIC_FREED_TOKENS) == []
    span = telemetry.spans["compact_context.stage s"]
    assert span.status.status_code is StatusCode.UNSET


def test_a_fold_shows_its_chunk_and_its_summary(telemetry: Telemetry) -> None:
    """A fold says what it folded, and what that took."""
    with fold_scope(index=0, tokens=800, entries=9) as fold:
        fold.settle(summary_tokens=60, attempts=2, degraded=True)
    assert telemetry.attributes("fold_chunk") == {
        names.CHUNK_INDEX: 0,
        names.CHUNK_TOKENS: 800,
        names.CHUNK_ENTRIES: 9,
        names.CHUNK_SUMMARY_TOKENS: 60,
        names.CHUNK_ATTEMPTS: 2,
        names.CHUNK_DEGRADED: True,
    }


# --- the events of a pass ---


def test_a_pass_tells_its_begin_and_its_end_inside_its_span(telemetry: Telemetry) -> None:
    """Both events lead to the span; the last one has all of the pass's numbers."""
    with run_scope(agent="a", run_id="r1", session_id="s"), compaction() as scope:
        with stage_scope(stage="one", index=0) as stage:
            stage.settle(outcome="applied")
        with stage_scope(stage="two", index=1) as stage:
            stage.settle(outcome="failed", error=ValueError("secret"))
        scope.settle(outcome="partial", tokens_after=500, tokens_freed=500)
    span = telemetry.spans["compact_context"]
    assert span.context is not None
    for name in (names.EVENT_COMPACTION_STARTED, names.EVENT_CONTEXT_COMPACTED):
        event = telemetry.events[name]
        assert (event.trace_id, event.span_id) == (span.context.trace_id, span.context.span_id)
        assert (event.attributes or {})[names.RUN_ID] == "r1"
    told = dict(telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {})
    assert told.items() >= telemetry.attributes("compact_context").items()
    assert told[names.COMPACTION_STAGES] == ("one", "two")
    assert told[names.COMPACTION_STAGE_OUTCOMES] == ("applied", "failed")
    assert told[names.COMPACTION_REACTIVE] is False


@pytest.mark.parametrize("outcome", names.PASS_OUTCOMES)
def test_each_outcome_is_told_apart_in_span_metric_and_event(
    telemetry: Telemetry, outcome: str
) -> None:
    """One attribute holds the outcome in all three signals."""
    with compaction() as scope:
        scope.settle(outcome=outcome)
    event = telemetry.events[names.EVENT_CONTEXT_COMPACTED]
    assert telemetry.attributes("compact_context")[names.COMPACTION_OUTCOME] == outcome
    assert telemetry.keys(names.METRIC_COMPACTION_DURATION)[names.COMPACTION_OUTCOME] == outcome
    assert (event.attributes or {})[names.COMPACTION_OUTCOME] == outcome


def test_a_handled_failure_of_a_stage_is_an_event(telemetry: Telemetry) -> None:
    """The pass goes on, so the failure is a warning; its text is content."""
    with compaction(), stage_scope(stage="one", index=0) as stage:
        stage.settle(outcome="failed", error=ValueError("secret"))
    event = telemetry.events[names.EVENT_COMPACTION_EXCEPTION]
    assert dict(event.attributes or {}) == {
        names.AGENT_NAME: "a",
        names.CONVERSATION_ID: "s",
        names.COMPACTION_ID: "p1",
        names.COMPACTION_STAGE: "one",
        names.EXCEPTION_TYPE: "ValueError",
    }


def test_an_exception_that_ends_a_stage_is_no_handled_one(telemetry: Telemetry) -> None:
    """What leaves the stage is on its span alone."""
    with pytest.raises(ValueError, match="no"), compaction(), stage_scope(stage="one", index=0):
        raise ValueError("no")
    assert names.EVENT_COMPACTION_EXCEPTION not in telemetry.events


def test_a_fold_tells_of_itself_with_what_its_calls_spent(telemetry: Telemetry) -> None:
    """Model calls inside the fold add up in its event, so that a stall can be watched live."""
    call: dict[str, Any] = {"provider": "p", "model": "m", "purpose": "summarize", "agent": "a"}
    with compaction(), fold_scope(index=1, planned=4, tokens=50):
        for _ in range(2):
            with chat_scope(**call) as chat:
                chat.settle(input_tokens=10, output_tokens=3)
    event = telemetry.events[names.EVENT_COMPACTION_FOLD]
    assert dict(event.attributes or {}) == {
        names.AGENT_NAME: "a",
        names.CONVERSATION_ID: "s",
        names.COMPACTION_ID: "p1",
        names.CHUNK_INDEX: 1,
        names.CHUNK_PLANNED: 4,
        names.COMPACTION_SUMMARY_INPUT_TOKENS: 20,
        names.COMPACTION_SUMMARY_OUTPUT_TOKENS: 6,
    }


def test_the_summary_is_in_the_event_only_where_events_may_hold_content(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A summary goes where the capture mode says."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "EVENT_ONLY")
    with compaction() as scope:
        scope.content(summary=lambda: "they talked")
    event = telemetry.events[names.EVENT_CONTEXT_COMPACTED]
    assert (event.attributes or {})[names.SUMMARY_TEXT] == "they talked"
    assert names.SUMMARY_TEXT not in telemetry.attributes("compact_context")


def test_sizes_can_be_corrected_by_the_result(telemetry: Telemetry) -> None:
    """Where only the result tells the size before, span and reduction use that one."""
    with compaction(tokens_before=10) as scope:
        scope.resize(tokens_before=100, tokens_source="tokenizer")
        scope.settle(outcome="compacted", tokens_freed=50)
    attributes = telemetry.attributes("compact_context")
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 100
    assert attributes[names.TOKENS_SOURCE] == "tokenizer"
    assert telemetry.total(names.METRIC_COMPACTION_REDUCTION) == 0.5
