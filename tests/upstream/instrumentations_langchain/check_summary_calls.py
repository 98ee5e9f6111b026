"""The model call of an observed summary is recorded once, whoever else records it."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI

from lovia_otel import names, observe
from tests.providers.wire.script import says
from tests.providers.wire.server import WireServer
from tests.upstream.langchain.scripted import talk
from tests.upstream.trees import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from tests.otel.conftest import Telemetry

OURS = names.SCOPE_NAME
INSTALLED = {found.name: found for found in entry_points(group="opentelemetry_instrumentor")}
each_way = pytest.mark.parametrize("way", ["sync", "async"])


@contextmanager
def instrumented(telemetry: Telemetry, *frameworks: str) -> Iterator[None]:
    """Have these instrumentations record where ours does."""
    with ExitStack() as stack:
        for name in frameworks:
            instrumentor = INSTALLED[name].load()()
            instrumentor.instrument(
                tracer_provider=telemetry.tracer_provider,
                meter_provider=telemetry.meter_provider,
                logger_provider=telemetry.logger_provider,
            )
            stack.callback(instrumentor.uninstrument)
        yield


def run(way: str) -> int:
    """Let an agent answer once behind a summary; return the model calls that it made."""
    with WireServer(says("Yes.")) as server:
        model = ChatOpenAI(
            model="gpt-5.5",
            base_url=server.openai_url,
            api_key="k",
            streaming=True,
            stream_usage=True,
        )
        memory = SummarizationMiddleware(model, trigger=("tokens", 40), keep=("messages", 2))
        agent = create_agent(model, middleware=[observe(memory)], name="helper")
        heard: Any = {"messages": talk(6)}
        if way == "sync":
            agent.invoke(heard)
        else:
            asyncio.run(agent.ainvoke(heard))
        assert server.refusals == []
        return len(server.requests)


def is_call(span: ReadableSpan) -> bool:
    """Tell whether a span is that of a model call, in anybody's words."""
    about = span.attributes or {}
    return (
        about.get(names.OPERATION_NAME) == names.OPERATION_CHAT
        or about.get("llm.request.type") == "chat"
        or about.get("openinference.span.kind") == "LLM"
    )


def calls(telemetry: Telemetry) -> list[str]:
    """Return who made the spans of model calls."""
    spans = telemetry.exported.get_finished_spans()
    return [span.instrumentation_scope.name for span in spans if is_call(span)]


@each_way
def test_a_client_s_instrumentation_leaves_the_summary_to_us(
    way: str, telemetry: Telemetry
) -> None:
    """Of the summary's call and the agent's own, the first has our span, the second theirs."""
    with instrumented(telemetry, "openai"):
        assert run(way) == 2
    makers = calls(telemetry)
    assert len(makers) == 2
    assert makers.count(OURS) == 1
    chat = next(s for s in telemetry.exported.get_finished_spans() if s.name == "chat gpt-5.5")
    fold = telemetry.spans[names.SPAN_FOLD]
    assert chat.parent is not None
    assert chat.parent.span_id == fold.context.span_id


@each_way
@pytest.mark.parametrize("with_client", [False, True])
def test_a_framework_s_instrumentation_records_each_call_once(
    way: str, with_client: bool, telemetry: Telemetry
) -> None:
    """Two calls, two spans, whoever makes them; the pass knows what the summary cost."""
    with instrumented(telemetry, "langchain", *(["openai"] if with_client else [])):
        assert run(way) == 2
    assert len(calls(telemetry)) == 2
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_SUMMARY_CALLS] == 1
    spent = about[names.COMPACTION_SUMMARY_INPUT_TOKENS]
    assert spent > 0
    told = telemetry.events[names.EVENT_COMPACTION_FOLD].attributes or {}
    assert told[names.COMPACTION_SUMMARY_INPUT_TOKENS] == spent


@each_way
def test_a_call_keeps_its_place_below_the_summary(way: str, telemetry: Telemetry) -> None:
    """Without any of them, the call is a child of the fold."""
    assert run(way) == 2
    assert calls(telemetry) == [OURS]
