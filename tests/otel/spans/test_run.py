"""Runs and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from lovia_otel import names, run_scope, turn_scope

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

SAVED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_run_has_its_facts_from_the_start(telemetry: Telemetry) -> None:
    """A sampler sees the operation, the agent, the session and the run's id."""
    with run_scope(agent="support", run_id="r1", session_id="s1"):
        pass
    span = telemetry.spans["invoke_agent support"]
    assert span.kind is SpanKind.INTERNAL
    assert dict(span.attributes or {}) == {
        names.OPERATION_NAME: "invoke_agent",
        names.AGENT_NAME: "support",
        names.CONVERSATION_ID: "s1",
        names.RUN_ID: "r1",
        names.RUN_RESUMED: False,
    }


def test_a_run_without_a_session_has_no_conversation(telemetry: Telemetry) -> None:
    """An id that is not known is left out, and nothing is put in its place."""
    with run_scope(agent="a", run_id=None, session_id=None):
        pass
    attributes = telemetry.attributes("invoke_agent a")
    assert names.CONVERSATION_ID not in attributes
    assert names.RUN_ID not in attributes


def test_a_settled_run_carries_its_outcome(telemetry: Telemetry) -> None:
    """Turns, compactions and tokens are attributes, summaries apart; success leaves no status."""
    with run_scope(agent="a", run_id="r", session_id=None) as run:
        run.settle(
            outcome="completed",
            turns=3,
            compactions=1,
            input_tokens=100,
            output_tokens=20,
            summary_input_tokens=30,
            summary_output_tokens=4,
        )
    span = telemetry.spans["invoke_agent a"]
    attributes = dict(span.attributes or {})
    assert attributes[names.RUN_OUTCOME] == "completed"
    assert attributes[names.RUN_TURNS] == 3
    assert attributes[names.RUN_COMPACTIONS] == 1
    assert attributes[names.USAGE_INPUT_TOKENS] == 100
    assert attributes[names.USAGE_OUTPUT_TOKENS] == 20
    assert attributes[names.RUN_SUMMARY_INPUT_TOKENS] == 30
    assert attributes[names.RUN_SUMMARY_OUTPUT_TOKENS] == 4
    assert span.status.status_code is StatusCode.UNSET
    assert names.ERROR_TYPE not in attributes


@pytest.mark.parametrize("outcome", ["completed", "suspended", "limit_reached"])
def test_only_failed_and_cancelled_runs_are_errors(telemetry: Telemetry, outcome: str) -> None:
    """A run that is suspended or reached its limit ends without error, as one that completed."""
    with run_scope(agent="a", run_id="r", session_id=None) as run:
        run.settle(outcome=outcome)
    assert telemetry.spans["invoke_agent a"].status.status_code is StatusCode.UNSET
    assert telemetry.keys(names.METRIC_RUN_DURATION)[names.RUN_OUTCOME] == outcome


@pytest.mark.parametrize(
    ("error_type", "shown"), [(None, names.OTHER), ("ProviderError", "ProviderError")]
)
def test_a_run_that_settles_as_failed_is_an_error(
    telemetry: Telemetry, error_type: str | None, shown: str
) -> None:
    """A failure that was handed over, and not raised, sets the status and an error type."""
    with run_scope(agent="a", run_id="r", session_id=None) as run:
        run.settle(outcome="failed", error_type=error_type)
    span = telemetry.spans["invoke_agent a"]
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})[names.ERROR_TYPE] == shown


def test_a_resumed_run_links_to_the_saved_one(telemetry: Telemetry) -> None:
    """The saved traceparent becomes a link with its type; the new run has its own trace."""
    with run_scope(agent="a", run_id="r", session_id=None, resumed=True, resumed_from=SAVED):
        pass
    span = telemetry.spans["invoke_agent a"]
    (link,) = span.links
    assert f"{link.context.trace_id:032x}" == SAVED.split("-")[1]
    assert f"{link.context.span_id:016x}" == SAVED.split("-")[2]
    assert dict(link.attributes or {}) == {names.LINK_TYPE: "resumed_from"}
    assert span.parent is None


@pytest.mark.parametrize(
    "saved", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 9]
)
def test_a_damaged_traceparent_makes_no_link(telemetry: Telemetry, saved: str) -> None:
    """What is no traceparent is set aside, and the run is traced all the same."""
    with run_scope(agent="a", run_id="r", session_id=None, resumed=True, resumed_from=saved):
        pass
    assert telemetry.spans["invoke_agent a"].links == ()


def test_a_traceparent_leads_to_its_run(telemetry: Telemetry) -> None:
    """The traceparent that a run gives is accepted as the origin of another."""
    with run_scope(agent="first", run_id="r", session_id=None) as run:
        saved = run.traceparent()
    assert saved is not None
    with run_scope(agent="second", run_id="r", session_id=None, resumed_from=saved):
        pass
    (link,) = telemetry.spans["invoke_agent second"].links
    first = telemetry.spans["invoke_agent first"].context
    assert first is not None
    assert (link.context.trace_id, link.context.span_id) == (first.trace_id, first.span_id)


@pytest.mark.usefixtures("no_sdk")
def test_a_run_without_a_tracer_has_no_traceparent() -> None:
    """With no SDK there is nothing to save."""
    with run_scope(agent="a", run_id="r", session_id=None) as run:
        assert run.traceparent() is None


def test_runs_under_way_are_counted(telemetry: Telemetry) -> None:
    """The counter of active runs goes up at the start and down at the end."""
    with run_scope(agent="a", run_id="r", session_id=None):
        assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 1
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0


def test_a_run_is_timed_without_ids(telemetry: Telemetry) -> None:
    """The duration carries the agent and the outcome, and neither run nor session."""
    with run_scope(agent="a", run_id="r", session_id="s") as run:
        run.settle(outcome="completed")
    assert telemetry.keys(names.METRIC_RUN_DURATION) == {
        names.OPERATION_NAME: "invoke_agent",
        names.AGENT_NAME: "a",
        names.RUN_OUTCOME: "completed",
    }


def test_a_turn_has_its_index_and_its_tool_calls(telemetry: Telemetry) -> None:
    """A turn says which one it is, and how many tools the model called."""
    with turn_scope(index=4) as turn:
        turn.settle(tool_calls=2)
    assert telemetry.attributes("agent_turn") == {
        names.TURN_INDEX: 4,
        names.TURN_TOOL_CALLS: 2,
    }
