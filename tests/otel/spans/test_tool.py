"""Tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import StatusCode

from lovia_otel import names, tool_scope

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


def test_a_tool_call_carries_its_facts(telemetry: Telemetry) -> None:
    """Name, id and type are there from the start, the size of the result at the end."""
    with tool_scope(tool="search", call_id="c1", agent="a") as tool:
        tool.settle(result_tokens=12, truncated=True)
    assert telemetry.attributes("execute_tool search") == {
        names.OPERATION_NAME: "execute_tool",
        names.TOOL_NAME: "search",
        names.TOOL_CALL_ID: "c1",
        names.TOOL_TYPE: "function",
        names.AGENT_NAME: "a",
        names.TOOL_RESULT_TOKENS: 12,
        names.TOOL_RESULT_TRUNCATED: True,
    }


def test_a_failure_that_goes_to_the_model_is_an_error_all_the_same(telemetry: Telemetry) -> None:
    """A settled error type sets the status although nothing was raised."""
    with tool_scope(tool="search", call_id="c1", agent="a") as tool:
        tool.settle(error_type="ToolError")
    span = telemetry.spans["execute_tool search"]
    assert span.status.status_code is StatusCode.ERROR
    assert telemetry.keys(names.METRIC_TOOL_DURATION)[names.ERROR_TYPE] == "ToolError"


def test_a_tool_call_is_timed_without_its_id(telemetry: Telemetry) -> None:
    """The duration carries tool and agent, and not the id of the call."""
    with tool_scope(tool="search", call_id="c1", agent="a"):
        pass
    assert telemetry.keys(names.METRIC_TOOL_DURATION) == {
        names.OPERATION_NAME: "execute_tool",
        names.TOOL_NAME: "search",
        names.TOOL_TYPE: "function",
        names.AGENT_NAME: "a",
    }


def test_a_handoff_is_a_tool_call_between_two_agents(telemetry: Telemetry) -> None:
    """The call by which an agent hands over says from whom, to whom, and whether it was applied."""
    with tool_scope(tool="transfer_to_billing", call_id="c1", agent="triage") as tool:
        tool.handoff(source="triage", target="billing", pending=True)
    attributes = telemetry.attributes("execute_tool transfer_to_billing")
    assert attributes[names.HANDOFF_SOURCE] == "triage"
    assert attributes[names.HANDOFF_TARGET] == "billing"
    assert attributes[names.HANDOFF_PENDING] is True
