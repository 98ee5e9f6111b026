"""Model calls: their spans, sizes and usage."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from lovia_otel import ChatSizes, chat_scope, names

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

SIZES = ChatSizes(history=1000, request=400, window=800, saved=400, source="tokenizer")
CALL = {names.AGENT_NAME: "a", names.REQUEST_MODEL: "gpt", names.TOKENS_SOURCE: "tokenizer"}


def call(**changes: Any) -> Any:
    """Make the scope of a model call that differs in `changes` from a plain one."""
    plain = {"provider": "openai", "model": "gpt", "purpose": "turn", "agent": "a"}
    return chat_scope(**{**plain, **changes})


def test_a_call_shows_what_it_asks_for(telemetry: Telemetry) -> None:
    """Everything about the request is known at the start."""
    with call(
        session_id="s",
        server_address="api.example.com",
        server_port=443,
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        output_type="json",
        view="compacted",
        compacted=True,
        sizes=SIZES,
        prefix_reused=0.25,
    ):
        pass
    span = telemetry.spans["chat gpt"]
    assert span.kind is SpanKind.CLIENT
    assert dict(span.attributes or {}) == {
        names.OPERATION_NAME: "chat",
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "gpt",
        names.INFERENCE_PURPOSE: "turn",
        names.AGENT_NAME: "a",
        names.CONVERSATION_ID: "s",
        names.CONVERSATION_COMPACTED: True,
        names.SERVER_ADDRESS: "api.example.com",
        names.SERVER_PORT: 443,
        names.REQUEST_STREAM: True,
        names.REQUEST_TEMPERATURE: 0.5,
        names.REQUEST_TOP_P: 0.9,
        names.REQUEST_MAX_TOKENS: 100,
        names.OUTPUT_TYPE: "json",
        names.CONTEXT_VIEW: "compacted",
        names.CONTEXT_PREFIX_REUSED: 0.25,
        names.CONTEXT_HISTORY_TOKENS: 1000,
        names.CONTEXT_REQUEST_TOKENS: 400,
        names.CONTEXT_WINDOW_TOKENS: 800,
        names.CONTEXT_SAVED_TOKENS: 400,
        names.TOKENS_SOURCE: "tokenizer",
    }


def test_an_uncompacted_view_leaves_the_compacted_mark_unset(telemetry: Telemetry) -> None:
    """The mark is true or absent, never false."""
    with call(compacted=False):
        pass
    assert names.CONVERSATION_COMPACTED not in telemetry.attributes("chat gpt")


def test_a_port_without_an_address_is_left_out(telemetry: Telemetry) -> None:
    """A port alone names nothing."""
    with call(server_port=443):
        pass
    assert names.SERVER_PORT not in telemetry.attributes("chat gpt")


def test_a_call_without_a_model_is_named_after_the_operation(telemetry: Telemetry) -> None:
    """An unknown model leaves the span's name without one."""
    with call(model=None):
        pass
    assert "chat" in telemetry.spans


def test_a_settled_call_shows_what_came_back(telemetry: Telemetry) -> None:
    """Usage, model, id, finish reason and time to the first chunk are end attributes."""
    with call() as chat:
        chat.settle(
            input_tokens=390,
            output_tokens=20,
            cache_read_tokens=300,
            cache_write_tokens=5,
            reasoning_tokens=7,
            response_model="gpt-2026",
            response_id="resp-1",
            finish_reason="stop",
            time_to_first_chunk=0.4,
        )
    attributes = telemetry.attributes("chat gpt")
    assert attributes[names.USAGE_INPUT_TOKENS] == 390
    assert attributes[names.USAGE_OUTPUT_TOKENS] == 20
    assert attributes[names.USAGE_CACHE_READ] == 300
    assert attributes[names.USAGE_CACHE_WRITE] == 5
    assert attributes[names.USAGE_REASONING] == 7
    assert attributes[names.RESPONSE_MODEL] == "gpt-2026"
    assert attributes[names.RESPONSE_ID] == "resp-1"
    assert attributes[names.RESPONSE_FINISH_REASONS] == ("stop",)
    assert attributes[names.RESPONSE_TIME_TO_FIRST_CHUNK] == 0.4
    assert telemetry.spans["chat gpt"].status.status_code is StatusCode.UNSET


def test_usage_is_counted_with_the_standard_attributes(telemetry: Telemetry) -> None:
    """Token counters carry the conventional keys, the purpose, and no agent or session."""
    with call(session_id="s", purpose="summarize") as chat:
        chat.settle(input_tokens=390, output_tokens=20, cache_read_tokens=300)
    assert telemetry.keys(names.METRIC_INPUT_TOKENS) == {
        names.OPERATION_NAME: "chat",
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "gpt",
        names.INFERENCE_PURPOSE: "summarize",
        names.TOKEN_MODALITY: "unknown",
    }
    assert telemetry.total(names.METRIC_INPUT_TOKENS) == 390
    assert telemetry.total(names.METRIC_OUTPUT_TOKENS) == 20
    assert telemetry.total(names.METRIC_CACHE_READ_TOKENS) == 300
    assert telemetry.points(names.METRIC_REASONING_TOKENS) == []


def test_sizes_are_measured_per_call(telemetry: Telemetry) -> None:
    """History, request, utilization, savings and reused prefix each have their metric."""
    for _ in range(2):
        with call(sizes=SIZES, prefix_reused=0.5):
            pass
    assert telemetry.total(names.METRIC_HISTORY_SIZE) == 2000
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == 800
    assert telemetry.total(names.METRIC_WINDOW_UTILIZATION) == 1.0
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 800
    assert telemetry.total(names.METRIC_PREFIX_REUSED) == 1.0
    assert telemetry.keys(names.METRIC_SAVED_TOKENS) == CALL
    assert telemetry.points(names.METRIC_INFLATED_TOKENS) == []


def test_an_unknown_window_gives_no_utilization_and_no_savings(telemetry: Telemetry) -> None:
    """Without a window there is no figure, and not a zero either."""
    with call(sizes=ChatSizes(1000, 400, None, None, "bytes")):
        pass
    assert telemetry.points(names.METRIC_WINDOW_UTILIZATION) == []
    assert telemetry.points(names.METRIC_SAVED_TOKENS) == []
    assert telemetry.total(names.METRIC_HISTORY_SIZE) == 1000


@pytest.mark.parametrize(
    ("sizes", "saved", "inflated"),
    [
        pytest.param(ChatSizes(100, 130, 800, -30, "bytes"), 0, 30, id="grown"),
        pytest.param(ChatSizes(900, 900, 800, -100, "bytes"), 0, 0, id="over the window, whole"),
        pytest.param(ChatSizes(900, 800, 800, 0, "bytes"), 0, 0, id="nothing saved"),
    ],
)
def test_growth_is_counted_apart_from_savings(
    telemetry: Telemetry, sizes: ChatSizes, saved: int, inflated: int
) -> None:
    """A request larger than its history is inflation; savings never count down."""
    with call(sizes=sizes):
        pass
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == saved
    assert telemetry.total(names.METRIC_INFLATED_TOKENS) == inflated


def test_a_failed_call_saves_nothing(telemetry: Telemetry) -> None:
    """A rejected request is measured, but nobody was charged, so nothing was saved."""
    with pytest.raises(ValueError, match="too long"), call(sizes=SIZES):
        raise ValueError("too long")
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == 400
    assert telemetry.points(names.METRIC_SAVED_TOKENS) == []
    assert telemetry.keys(names.METRIC_INFERENCE_DURATION)[names.ERROR_TYPE] == "ValueError"


def test_a_cancelled_call_counts_its_savings(telemetry: Telemetry) -> None:
    """A request whose answer was cut short had been sent."""
    with pytest.raises(asyncio.CancelledError), call(sizes=SIZES):
        raise asyncio.CancelledError
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 400


def test_a_duration_is_that_of_the_span(telemetry: Telemetry) -> None:
    """The metric and the span agree on how long the call took."""
    with call():
        pass
    span = telemetry.spans["chat gpt"]
    assert span.start_time is not None
    assert span.end_time is not None
    lasted = (span.end_time - span.start_time) / 1e9
    assert telemetry.total(names.METRIC_INFERENCE_DURATION) == pytest.approx(lasted, abs=1e-9)


def test_an_exemplar_leads_to_the_very_span(telemetry: Telemetry) -> None:
    """The metrics of a call point at its span, not at the one around it."""
    with call(sizes=SIZES):
        pass
    (point,) = telemetry.points(names.METRIC_REQUEST_SIZE)
    (exemplar,) = point.exemplars
    context = telemetry.spans["chat gpt"].context
    assert context is not None
    assert exemplar.span_id == context.span_id


def test_details_are_an_event_only_when_asked_for(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default no details leave; the shared variable turns their event on, without content."""
    with call():
        pass
    assert telemetry.events == {}
    monkeypatch.setenv(names.ENV_EMIT_EVENT, "true")
    with call() as chat:
        chat.content(input_messages=lambda: "secret")
        chat.settle(input_tokens=3)
    event = telemetry.events[names.EVENT_INFERENCE_DETAILS]
    attributes = dict(event.attributes or {})
    assert attributes[names.USAGE_INPUT_TOKENS] == 3
    assert names.INPUT_MESSAGES not in attributes
    context = telemetry.exported.get_finished_spans()[-1].context
    assert context is not None
    assert event.span_id == context.span_id
