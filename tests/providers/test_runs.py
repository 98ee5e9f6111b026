"""Whole runs over the wire: tools, handoffs, compaction, structured output, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from lovia import Agent, CompactingContextPolicy, ModelSettings, RetryPolicy, Runner, events, tool
from lovia.context.stages import AutoSummaryStage
from lovia.context.summarizer.prompts import system_prompt
from lovia.errors import ContextOverflowError
from lovia.transcript import (
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia_otel import names
from tests.providers.support import (
    CHAT,
    COMPATIBLE,
    MESSAGES,
    RESPONSES,
    WIRES,
    Wire,
    serving,
)
from tests.providers.wire.script import CallTool, Failure, Request, Thought, says
from tests.providers.wire.strict import tokens_in
from tests.runtime.support import events_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.otel.conftest import Telemetry
    from tests.providers.wire.script import Answer

pytestmark = pytest.mark.anyio
each_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)

SUMMARY = "## Goal\nRead.\n\n## State\nRead some.\n\n## Planned\nRead on."
OPENING = system_prompt(1).partition(".")[0]


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "a line of text that says something new. " * 40


class Tide(BaseModel):
    """When the water comes."""

    hour: int
    place: str


def reader(pages: int) -> Callable[[Request], Answer]:
    """Play a model that reads pages one by one, and writes a summary when it is asked for one."""
    turn = 0

    def answer(request: Request) -> Answer:
        nonlocal turn
        if OPENING in str(request.body):
            return says(SUMMARY)
        turn += 1
        if turn > pages:
            return says("I have read all of it.")
        return says(Thought(f"Page {turn} next."), CallTool("read", {"page": turn}))

    return answer


@each_wire
async def test_a_run_with_tools(wire: Wire) -> None:
    """Calls run, results go back, usage is the sum of what the vendor reported."""
    first = says(Thought("Two."), CallTool("read", {"page": 1}), CallTool("read", {"page": 2}))
    async with serving(wire, first, says("Both read.")) as (server, provider):
        agent = Agent("reader", model=provider, tools=[read], instructions="Read.")
        result = await Runner.run(agent, "Read two pages.")
        assert result.output == "Both read."
        assert server.refusals == []
        assert result.usage.input_tokens == sum(map(tokens_in, server.bodies))
        assert str(server.bodies[1]).index("page 1:") < str(server.bodies[1]).index("page 2:")


@each_wire
async def test_a_run_with_images(wire: Wire) -> None:
    """A user's image and a tool's reach the vendor, whatever it allows in tool messages."""
    picture = ImagePart(data="aGVsbG8=", mime_type="image/png")

    async with serving(wire, says("I see.")) as (server, provider):
        heard: list[TranscriptEntry] = [
            InputEntry("user", [TextPart("What is this?"), picture]),
            ToolCallEntry("c1", "look", "{}"),
            ToolResultEntry("c1", "taken", parts=[picture]),
        ]
        result = await Runner.run(Agent("eye", model=provider), heard)
        assert result.output == "I see."
        assert str(server.bodies[0]).count("aGVsbG8=") == 2
        assert server.refusals == []


@each_wire
async def test_a_run_with_a_structured_answer(wire: Wire) -> None:
    """The schema is sent where it is kept to, as instructions elsewhere; the answer is a value."""
    async with serving(wire, says('{"hour": 7, "place": "Brest"}')) as (server, provider):
        agent = Agent("clock", model=provider, output_type=Tide)
        result = await Runner.run(agent, "When is high tide?")
        assert result.output == Tide(hour=7, place="Brest")
        body = server.bodies[0]
        schema: Any = {
            CHAT: body.get("response_format", {}).get("json_schema", {}).get("schema"),
            COMPATIBLE: {"properties": str(body.get("messages", [{}])[0].get("content"))},
            RESPONSES: body.get("text", {}).get("format", {}).get("schema"),
            MESSAGES: body.get("output_config", {}).get("format", {}).get("schema"),
        }[wire]
        assert "hour" in schema["properties"]


@each_wire
async def test_a_run_with_a_handoff(wire: Wire) -> None:
    """The next agent gets the conversation under its own prompt and tools, and is accepted."""
    script = (
        says(Thought("Not mine."), CallTool("transfer_to_sailor", {"reason": "tides"})),
        says(Thought("Mine."), "High at seven."),
    )
    async with serving(wire, *script) as (server, provider):
        sailor = Agent("sailor", model=provider, instructions="You know the sea.")
        desk = Agent("desk", model=provider, instructions="You know people.", handoffs=[sailor])
        result = await Runner.run(desk, "When is high tide?")
        assert result.output == "High at seven."
        assert result.final_agent is sailor
        assert server.refusals == []
        assert "You know the sea." in str(server.bodies[1])
        assert "You know people." not in str(server.bodies[1])


@pytest.mark.parametrize(
    ("first", "second"),
    [(CHAT, MESSAGES), (MESSAGES, RESPONSES), (RESPONSES, COMPATIBLE), (COMPATIBLE, MESSAGES)],
    ids=lambda wire: wire.name,
)
async def test_a_handoff_between_vendors(first: Wire, second: Wire) -> None:
    """A conversation moves to another vendor's model and back, thoughts and calls included."""
    there = (
        says(Thought("Read."), "One moment.", CallTool("read", {"page": 1}, "odd:id" * 9)),
        says(Thought("Over."), CallTool("transfer_to_other")),
        says("Welcome back."),
    )
    back = (
        says(Thought("Hm."), CallTool("read", {"page": 2}), CallTool("read", "no json")),
        says(Thought("Back."), CallTool("transfer_to_one")),
    )
    if first is MESSAGES:  # its server reads the arguments that it was told to write
        there = (says(Thought("Read."), CallTool("read", {"page": 1})), *there[1:])
    if second is MESSAGES:
        back = (says(Thought("Hm."), CallTool("read", {"page": 2})), back[1])
    async with serving(first, *there) as (near, one), serving(second, *back) as (far, two):
        other = Agent("other", model=two, tools=[read])
        agent = Agent("one", model=one, tools=[read], handoffs=[other])
        other.handoffs.append(agent)
        result = await Runner.run(agent, "Go there and come back.")
        assert result.output == "Welcome back."
        assert (near.refusals, far.refusals) == ([], [])
        assert sum(isinstance(entry, ReasoningEntry) for entry in result.entries) == 4


@each_wire
@pytest.mark.parametrize("summaries", [True, False], ids=["summary", "placeholders"])
async def test_a_run_outgrows_its_window(wire: Wire, summaries: bool) -> None:
    """Views with summaries and views with placeholders are accepted, and every request fits."""
    window = 6_000
    stages = [AutoSummaryStage(keep_recent=4)]
    settings: dict[str, Any] = {"max_entries": None, "stages": stages} if summaries else {}
    policy = CompactingContextPolicy(
        context_window_tokens=window, keep_recent_entries=4, target_ratio=0.4, **settings
    )
    async with serving(wire, reader(24)) as (server, provider):
        agent = Agent("reader", model=provider, tools=[read], context_policy=policy)
        seen = await events_of(Runner.stream(agent, "Read all pages."))
        last = seen[-1]
        assert isinstance(last, events.RunCompleted)
        assert server.refusals == []
        compacted = [event for event in seen if isinstance(event, events.ContextCompacted)]
        assert compacted
        asked = [body for body in server.bodies if OPENING in str(body)]
        assert bool(asked) == summaries
        assert last.result.usage.summary.input_tokens == sum(map(tokens_in, asked))
        assert max(map(tokens_in, server.bodies)) < window
        assert len(last.result.entries) == 2 + sum(
            isinstance(e, (ToolCallEntry, ToolResultEntry, ReasoningEntry))
            for e in last.result.entries
        )


def refusing(status: int, text: str, **fields: Any) -> Callable[[int, int], Failure]:
    """Refuse requests for their size, in these words."""

    def overflow(size: int, window: int) -> Failure:
        told = text.format(size=size, window=window)
        extra = dict.fromkeys(fields, window)
        kind = {"type": "invalid_request_error", "code": None, "message": told, **extra}
        return Failure(status, {"type": "error", "error": kind})

    return overflow


OPENAI = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{size} tokens. Please reduce the length of the messages."
)
OPENROUTER = (
    "This endpoint's maximum context length is {window} tokens. However, you requested about "
    "{size} tokens ({size} of text input)."
)
ANTHROPIC = "prompt is too long: {size} tokens > {window} maximum"
BEDROCK = "Input is too long for requested model."
OLLAMA = "prompt too long; exceeded max context length by 9 tokens"
LLAMA_CPP = "the request exceeds the available context size, try increasing it"
RESPONSES_TEXT = "Your input exceeds the context window of this model."
BUDGET = "input length and `max_tokens` exceed context limit: {size} + 32000 > {window}"


@pytest.mark.parametrize(
    ("wire", "overflow"),
    [
        pytest.param(CHAT, refusing(400, OPENAI), id="openai"),
        pytest.param(COMPATIBLE, refusing(400, OPENROUTER), id="openrouter"),
        pytest.param(COMPATIBLE, refusing(500, LLAMA_CPP, n_ctx=True), id="llama.cpp"),
        pytest.param(COMPATIBLE, refusing(400, OLLAMA), id="ollama"),
        pytest.param(RESPONSES, refusing(400, RESPONSES_TEXT), id="responses"),
        pytest.param(MESSAGES, refusing(400, ANTHROPIC), id="anthropic"),
        pytest.param(MESSAGES, refusing(400, BUDGET), id="anthropic-budget"),
        pytest.param(
            MESSAGES, refusing(400, "Input is too long for requested model."), id="bedrock"
        ),
    ],
)
async def test_a_refusal_for_size_makes_the_request_smaller(
    wire: Wire, overflow: Callable[[int, int], Failure]
) -> None:
    """A policy that takes the window for larger learns from the refusal, and the run goes on."""
    policy = CompactingContextPolicy(
        context_window_tokens=200_000, keep_recent_entries=4, max_entries=None
    )
    async with serving(wire, reader(16), window=5_000, overflow=overflow) as (server, provider):
        agent = Agent("reader", model=provider, tools=[read], context_policy=policy)
        seen = await events_of(Runner.stream(agent, "Read all pages."))
        assert isinstance(seen[-1], events.RunCompleted), seen[-1]
        assert server.refusals == []
        reactive = [e for e in seen if isinstance(e, events.ContextCompacted) and e.reactive]
        assert reactive


@each_wire
async def test_a_request_that_cannot_shrink_fails_with_the_refusal(wire: Wire) -> None:
    """When nothing is left to take out, the vendor's refusal is the run's error."""
    text = ANTHROPIC if wire is MESSAGES else OPENAI
    async with serving(wire, says("x"), window=50, overflow=refusing(400, text)) as (_, provider):
        with pytest.raises(ContextOverflowError) as caught:
            await Runner.run(Agent("a", model=provider), "word " * 500)
        assert caught.value.reported_window == 50


@each_wire
async def test_transient_failures_are_tried_again(wire: Wire) -> None:
    """An overloaded server, a limit and a broken stream cost attempts and not the run."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    busy = {"error": {"type": "rate_limit_error", "message": "Slow down."}}
    script = (
        Failure(529, busy),
        Failure(429, busy, headers=(("retry-after", "3"),)),
        says("Half of what was an ans", cut=5),
        says("A whole answer."),
    )
    async with serving(wire, *script) as (server, provider):
        agent = Agent("a", model=provider, retry=RetryPolicy(sleep=sleep))
        seen = await events_of(Runner.stream(agent, "hi"))
        assert isinstance(seen[-1], events.RunCompleted)
        assert seen[-1].result.output == "A whole answer."
        assert waits[1] == 3.0
        assert len(server.requests) == 4
        assert any(isinstance(event, events.OutputDiscarded) for event in seen)


@each_wire
async def test_telemetry_knows_the_vendor(wire: Wire, telemetry: Telemetry) -> None:
    """The span of a model call names the vendor, the server and what the vendor reported."""
    async with serving(wire, says("Yes.")) as (server, provider):
        agent = Agent("a", model=provider, settings=ModelSettings(max_tokens=9))
        await Runner.run(agent, "hi")
        told = telemetry.attributes(f"chat {wire.model}")
        assert told[names.PROVIDER_NAME] == ("anthropic" if wire is MESSAGES else "openai")
        assert told[names.SERVER_ADDRESS] == "127.0.0.1"
        assert told[names.USAGE_INPUT_TOKENS] == tokens_in(server.bodies[0])
        assert told[names.RESPONSE_FINISH_REASONS] == ("stop",)
