"""A model call of our runtime is recorded once, whatever other instrumentation is at work."""

from __future__ import annotations

import contextlib
from collections import Counter
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from opentelemetry.trace import SpanKind

from lovia import Agent, CompactingContextPolicy, Runner, tool
from lovia.context.summarizer.prompts import system_prompt
from lovia_otel import names
from tests.providers.support import CHAT, MESSAGES, RESPONSES, Wire, serving
from tests.providers.wire.script import CallTool, says
from tests.providers.wire.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from tests.otel.conftest import Telemetry
    from tests.providers.wire.script import Answer, Request

pytestmark = pytest.mark.anyio

INSTALLED = {found.name: found for found in entry_points(group="opentelemetry_instrumentor")}
OURS = names.SCOPE_NAME
THEIRS = INSTALLED["openai"].value
WIRES = [CHAT, RESPONSES, *([MESSAGES] if "anthropic" in INSTALLED else [])]
each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@pytest.fixture(autouse=True)
def _instrumented(telemetry: Telemetry) -> Iterator[None]:
    """Have every instrumentation that is installed record where ours does."""
    with contextlib.ExitStack() as stack:
        for name in ("openai", "anthropic", "httpx", "httpx2"):
            if name in INSTALLED:
                instrumentor = INSTALLED[name].load()()
                instrumentor.instrument(
                    tracer_provider=telemetry.tracer_provider,
                    meter_provider=telemetry.meter_provider,
                    logger_provider=telemetry.logger_provider,
                )
                stack.callback(instrumentor.uninstrument)
        yield


def scope_of(span: ReadableSpan) -> str:
    """Return who made a span."""
    assert span.instrumentation_scope is not None
    return span.instrumentation_scope.name


def is_http(span: ReadableSpan) -> bool:
    """Tell whether a span is one of the HTTP client's."""
    return scope_of(span).endswith("httpx")


def makers(telemetry: Telemetry) -> Counter[str]:
    """Return who made how many of the spans that are none of the HTTP client's."""
    spans = telemetry.exported.get_finished_spans()
    return Counter(scope_of(span) for span in spans if not is_http(span))


def metrics(telemetry: Telemetry) -> dict[str, set[str]]:
    """Return the names of the metrics of model calls, by who records them."""
    data = telemetry.reader.get_metrics_data()
    found: dict[str, set[str]] = {}
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            of_models = {m.name for m in scope.metrics if not m.name.startswith("http.")}
            if of_models:
                found.setdefault(scope.scope.name, set()).update(of_models)
    return found


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "a line of text that says something new. " * 40


def reader(request: Request) -> Answer:
    """Play a model that reads on and on, and writes a summary when it is asked for one."""
    if system_prompt(1).partition(".")[0] in str(request.body):
        return says("## Goal\nRead.\n\n## State\nRead some.\n\n## Planned\nRead on.")
    return says(CallTool("read", {"page": 1}))


async def run(wire: Wire) -> int:
    """Let an agent read until its window has overflown several times; return its model calls."""
    policy = CompactingContextPolicy(
        context_window_tokens=4_000,
        keep_recent_entries=4,
        target_ratio=0.4,
        keep_tools={"read"},
        max_entries=None,
    )
    async with serving(wire, reader) as (server, provider):
        agent = Agent("reader", model=provider, tools=[read], context_policy=policy)
        with contextlib.suppress(Exception):  # it reads until its turns are over
            await Runner.run(agent, "Read all pages.", max_turns=10)
        assert server.refusals == []
        return len(server.requests)


@each_wire
async def test_a_call_is_recorded_once(wire: Wire, telemetry: Telemetry) -> None:
    """Turns and summaries alike: each request has one `chat` span, and one set of metrics."""
    requests = await run(wire)
    assert requests > 10  # some of them for summaries
    chats = [
        span
        for span in telemetry.exported.get_finished_spans()
        if span.kind is SpanKind.CLIENT and not is_http(span)
    ]
    assert len(chats) == requests
    assert set(makers(telemetry)) == set(metrics(telemetry)) == {OURS}
    counted = telemetry.points(names.METRIC_INFERENCE_DURATION)
    assert sum(point.count for point in counted) == requests


@each_wire
async def test_http_stays_visible(wire: Wire, telemetry: Telemetry) -> None:
    """The HTTP request is a child of our span; OpenInference is not silenced without it."""
    requests = await run(wire)
    spans = telemetry.exported.get_finished_spans()
    calls = {span.context.span_id for span in spans if span.name.startswith(names.SPAN_CHAT)}
    http = [span for span in spans if is_http(span)]
    assert len(http) == (0 if THEIRS.startswith("openinference") else requests)
    assert {span.parent.span_id for span in http if span.parent} == (calls if http else set())


@pytest.mark.parametrize("wire", [w for w in WIRES if w is not RESPONSES], ids=lambda w: w.name)
async def test_other_calls_are_theirs(wire: Wire, telemetry: Telemetry) -> None:
    """A call that the application makes with the SDK itself is recorded by them, as before."""
    await run(wire)
    before = makers(telemetry)
    call_directly(wire)
    (maker,) = makers(telemetry) - before
    assert maker != OURS


def call_directly(wire: Wire) -> None:
    """Ask a model with the vendor's SDK, as an application does beside its agents."""
    answer: Any
    with WireServer(says("Yes.")) as server:
        if wire is MESSAGES:
            claude = anthropic.Anthropic(base_url=server.url, api_key="k")
            parts: Any = [{"type": "text", "text": "hi"}]
            answer = claude.messages.create(
                model=wire.model,
                max_tokens=9,
                messages=[{"role": "user", "content": parts}],
                stream=True,
            )
        else:
            client = openai.OpenAI(base_url=server.openai_url, api_key="k")
            answer = client.chat.completions.create(
                model=wire.model,
                messages=[{"role": "user", "content": "hi"}],
                stream=True,
                stream_options={"include_usage": True},
            )
        for _ in answer:
            pass
        assert server.refusals == []
