"""One run of an agent with an observed summary, and who recorded its model calls, as JSON.

It is given the way (`sync`, `async` or, without `observe`, `plain`) and the instrumentations. Each
run has a process of its own, because not every instrumentation lets go of a process that it had.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI

from lovia_otel import names, observe
from tests.otel.conftest import recorded_telemetry
from tests.providers.wire.script import says
from tests.providers.wire.server import WireServer
from tests.upstream.langchain.scripted import talk
from tests.upstream.trees import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from tests.otel.conftest import Telemetry


def main(way: str, instrumentations: list[str]) -> dict[str, Any]:
    """Run the agent, and return what was recorded."""
    with recorded_telemetry() as telemetry:
        installed = {
            found.name: found for found in entry_points(group="opentelemetry_instrumentor")
        }
        for name in instrumentations:
            installed[name].load()().instrument(
                tracer_provider=telemetry.tracer_provider,
                meter_provider=telemetry.meter_provider,
                logger_provider=telemetry.logger_provider,
            )
        requests = _run(way)
        return {"requests": requests, **_recorded(telemetry)}


def _run(way: str) -> int:
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
        middleware = memory if way == "plain" else observe(memory)
        agent = create_agent(model, middleware=[middleware], name="helper")
        heard: Any = {"messages": talk(6)}
        if way == "async":
            asyncio.run(agent.ainvoke(heard))
        else:
            agent.invoke(heard)
        assert server.refusals == []
        return len(server.requests)


def _recorded(telemetry: Telemetry) -> dict[str, Any]:
    """Return who made the spans of model calls, inside the fold and all, and what is told."""
    spans = telemetry.exported.get_finished_spans()
    calls = [span for span in spans if _is_call(span)]
    recorded: dict[str, Any] = {"calls": [_maker(span) for span in calls]}
    if names.SPAN_FOLD not in telemetry.spans:
        return recorded
    parents = {_id(span): span.parent.span_id if span.parent else 0 for span in spans}
    fold = _id(telemetry.spans[names.SPAN_FOLD])
    about = facts(telemetry, names.SPAN_PASS)
    told = telemetry.events[names.EVENT_COMPACTION_FOLD].attributes or {}
    return {
        **recorded,
        "inside": [_maker(span) for span in calls if fold in _above(_id(span), parents)],
        "summary_calls": about[names.COMPACTION_SUMMARY_CALLS],
        "spent": about[names.COMPACTION_SUMMARY_INPUT_TOKENS],
        "told": told[names.COMPACTION_SUMMARY_INPUT_TOKENS],
    }


def _is_call(span: ReadableSpan) -> bool:
    """Tell whether a span is that of a model call, in anybody's words."""
    about = span.attributes or {}
    return (
        about.get(names.OPERATION_NAME) == names.OPERATION_CHAT
        or about.get("llm.request.type") == "chat"
        or about.get("openinference.span.kind") == "LLM"
    )


def _above(span: int, parents: dict[int, int]) -> Iterator[int]:
    while span := parents.get(span, 0):
        yield span


def _maker(span: ReadableSpan) -> str:
    scope = span.instrumentation_scope
    assert scope is not None
    return scope.name


def _id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


if __name__ == "__main__":
    json.dump(main(sys.argv[1], sys.argv[2:]), sys.stdout)
