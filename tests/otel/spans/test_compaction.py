"""Passes, stages and folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import StatusCode

from lovia_otel import fold_scope, names, pass_scope, stage_scope

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
