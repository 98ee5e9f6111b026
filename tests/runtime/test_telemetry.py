"""The spans of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import StatusCode

from lovia import MaxTurnsExceeded, ProviderError, RunCancelled, Runner, events, tool
from lovia.testing import ScriptedProvider, batch, call, text
from lovia_otel import names
from tests.runtime.support import Newest, events_of, scripted

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio


@tool
def look() -> str:
    """Look."""
    return "seen"


@tool
def fail() -> None:
    """Fail."""
    raise KeyError("x")


def tree(telemetry: Telemetry) -> list[tuple[str, str | None]]:
    """Return each finished span with its parent's name, in order of their start."""
    spans = sorted(telemetry.exported.get_finished_spans(), key=lambda span: span.start_time or 0)
    by_id = {span.context.span_id: span.name for span in spans if span.context}
    return [(s.name, by_id.get(s.parent.span_id) if s.parent else None) for s in spans]


async def test_a_run_is_a_tree_of_spans(telemetry: Telemetry) -> None:
    """Run, turns, model calls and tools nest as the work does; parallel tools are siblings."""
    agent = scripted(batch(("look", {}), ("fail", {})), text("ok"), tools=[look, fail])
    await Runner.run(agent, "go")
    assert tree(telemetry) == [
        ("invoke_agent bot", None),
        ("agent_turn", "invoke_agent bot"),
        ("chat scripted", "agent_turn"),
        ("execute_tool look", "agent_turn"),
        ("execute_tool fail", "agent_turn"),
        ("agent_turn", "invoke_agent bot"),
        ("chat scripted", "agent_turn"),
    ]
    run = telemetry.attributes("invoke_agent bot")
    assert run[names.RUN_OUTCOME] == "completed"
    assert run[names.RUN_TURNS] == 2
    assert (run[names.USAGE_INPUT_TOKENS], run[names.RUN_SUMMARY_INPUT_TOKENS]) == (2, 0)
    assert telemetry.attributes("execute_tool fail")[names.ERROR_TYPE] == "KeyError"
    assert telemetry.attributes("execute_tool look")[names.TOOL_RESULT_TOKENS] > 0


async def test_a_chat_span_says_what_was_sent(telemetry: Telemetry) -> None:
    """Sizes, view and reuse of the request are on the span of the model call."""
    provider = ScriptedProvider([call("look"), text("ok")], window=1_000)
    agent = scripted(provider=provider, tools=[look], context_policy=Newest(2))
    await Runner.run(agent, "go")
    chat = telemetry.attributes("chat scripted")
    history, request = chat[names.CONTEXT_HISTORY_TOKENS], chat[names.CONTEXT_REQUEST_TOKENS]
    assert chat[names.CONTEXT_SAVED_TOKENS] == history - request > 0
    assert chat[names.CONTEXT_WINDOW_TOKENS] == 1_000
    assert chat[names.CONTEXT_VIEW] == "compacted"
    assert chat[names.CONVERSATION_COMPACTED] is True
    assert chat[names.INFERENCE_PURPOSE] == "turn"
    assert 0 < chat[names.CONTEXT_PREFIX_REUSED] < 1


async def test_a_handoff_opens_the_target_s_span(telemetry: Telemetry) -> None:
    """The transfer is a tool call; the target's turns are under a span of its own."""
    other = scripted(text("done"), name="b")
    await Runner.run(scripted(call("transfer_to_b"), handoffs=[other]), "go")
    assert tree(telemetry)[3:] == [
        ("execute_tool transfer_to_b", "agent_turn"),
        ("invoke_agent b", "invoke_agent bot"),
        ("agent_turn", "invoke_agent b"),
        ("chat scripted", "agent_turn"),
    ]
    assert telemetry.attributes("invoke_agent bot")[names.USAGE_OUTPUT_TOKENS] == 2
    assert telemetry.attributes("invoke_agent b")[names.USAGE_OUTPUT_TOKENS] == 1
    assert telemetry.total(names.METRIC_HANDOFFS) == 1


async def test_a_limit_is_no_cancellation(telemetry: Telemetry) -> None:
    """A run that used its turns is `limit_reached`, and no cancellation is counted."""
    agent = scripted(call("look"), tools=[look])
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent, "go", max_turns=1)
    assert telemetry.attributes("invoke_agent bot")[names.RUN_OUTCOME] == "limit_reached"
    assert telemetry.total(names.METRIC_CANCELLATIONS) == 0


async def test_a_cancellation_is_on_every_open_span_and_counted_once(telemetry: Telemetry) -> None:
    """Each span that was open says why and where; the metric counts one cancelled run."""
    handle = Runner.stream(scripted(text("a b c")), "go")

    def stop(event: Any) -> None:
        if isinstance(event, events.TextDelta):
            handle.cancel("timeout")

    await events_of(handle, stop)
    with pytest.raises(RunCancelled):
        await handle.result()
    for name in ("invoke_agent bot", "agent_turn", "chat scripted"):
        attributes = telemetry.attributes(name)
        assert attributes[names.CANCELLATION_REASON] == "timeout"
        assert attributes[names.CANCELLATION_CHECKPOINT] == "model_stream"
        assert telemetry.spans[name].status.status_code is StatusCode.ERROR
    assert telemetry.attributes("invoke_agent bot")[names.RUN_OUTCOME] == "cancelled"
    assert telemetry.total(names.METRIC_CANCELLATIONS) == 1


async def test_a_failure_before_the_first_turn_is_on_the_run(telemetry: Telemetry) -> None:
    """A run that fails in its set-up has a span that says so."""
    with pytest.raises(ProviderError):
        await Runner.run(scripted(ProviderError("down")), "go")
    assert telemetry.attributes("invoke_agent bot")[names.RUN_OUTCOME] == "failed"
    assert telemetry.attributes("invoke_agent bot")[names.ERROR_TYPE] == "ProviderError"
