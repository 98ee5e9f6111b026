"""The spans of a run."""

from __future__ import annotations

import json
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


async def test_a_cancelled_run_and_a_handoff_are_log_events(telemetry: Telemetry) -> None:
    """Both are told with who, why and where, in the trace of the run."""
    other = scripted(text("a b c"), name="b")
    handle = Runner.stream(scripted(call("transfer_to_b"), handoffs=[other]), "go", session_id="s")

    def stop(event: Any) -> None:
        if isinstance(event, events.TextDelta):
            handle.cancel("shutdown")

    await events_of(handle, stop)
    handoff = dict(telemetry.events[names.EVENT_AGENT_HANDOFF].attributes or {})
    assert (handoff[names.HANDOFF_SOURCE], handoff[names.HANDOFF_TARGET]) == ("bot", "b")
    cancelled = dict(telemetry.events[names.EVENT_RUN_CANCELLED].attributes or {})
    assert cancelled[names.CANCELLATION_REASON] == "shutdown"
    assert cancelled[names.CANCELLATION_CHECKPOINT] == "model_stream"
    passed = cancelled[names.CANCELLATION_CHECKPOINTS]
    assert isinstance(passed, int)
    assert passed > 0
    assert cancelled[names.CONVERSATION_ID] == "s"


@pytest.mark.parametrize("mode", ["NO_CONTENT", "SPAN_ONLY"])
async def test_content_is_shown_only_when_asked_for(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Messages, arguments and results are on spans when capture is on, and nowhere otherwise."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, mode)
    agent = scripted(
        *(call("look"), text("ok", reasoning="hm")), tools=[look], instructions="Be brief."
    )
    await Runner.run(agent, "secret question")
    everything = str([span.attributes for span in telemetry.exported.get_finished_spans()])
    shown = mode == "SPAN_ONLY"
    assert ("secret question" in everything) is shown
    if shown:
        chat = telemetry.attributes("chat scripted")
        assert [message["role"] for message in json.loads(chat[names.INPUT_MESSAGES])] == [
            *("system", "user", "assistant", "tool")
        ]
        (answer,) = json.loads(chat[names.OUTPUT_MESSAGES])
        assert [part["type"] for part in answer["parts"]] == ["reasoning", "text"]
        assert answer["finish_reason"] == "stop"
        assert telemetry.attributes("execute_tool look")[names.TOOL_CALL_RESULT] == "seen"


@pytest.mark.parametrize(
    ("base_url", "endpoint"),
    [
        ("https://api.example.com:8443/v1", ("api.example.com", 8443)),
        ("http://localhost", ("localhost", None)),
        ("http://[", (None, None)),
        (None, (None, None)),
    ],
)
async def test_the_endpoint_is_on_the_model_call(
    telemetry: Telemetry, base_url: Any, endpoint: Any
) -> None:
    """Host and port of the provider's base_url are named; an odd one is left out."""
    provider = ScriptedProvider([text("ok")])
    provider.base_url = base_url  # type: ignore[attr-defined] # as providers of vendors have it
    await Runner.run(scripted(provider=provider), "go")
    chat = telemetry.attributes("chat scripted")
    assert (chat.get(names.SERVER_ADDRESS), chat.get(names.SERVER_PORT)) == endpoint


async def test_a_failure_before_the_first_turn_is_on_the_run(telemetry: Telemetry) -> None:
    """A run that fails in its set-up has a span that says so."""
    with pytest.raises(ProviderError):
        await Runner.run(scripted(ProviderError("down")), "go")
    assert telemetry.attributes("invoke_agent bot")[names.RUN_OUTCOME] == "failed"
    assert telemetry.attributes("invoke_agent bot")[names.ERROR_TYPE] == "ProviderError"
