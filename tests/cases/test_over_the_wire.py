"""What vendors are really sent, and what they really report, by the adapters at a strict server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field

from lovia import (
    Agent,
    CompactingContextPolicy,
    Handoff,
    InMemorySession,
    Runner,
    events,
    tool,
)
from lovia.context.stages import AutoSummaryStage
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import ProviderError
from lovia.providers import ModelSettings
from lovia.tools import Tool
from tests.cases.support import summaries
from tests.context.summarizer.fakes import GOOD, no_wait
from tests.notation import A, C, R, T, U
from tests.providers.conftest import bare_environment
from tests.providers.support import MESSAGES, WIRES, Wire, serving
from tests.providers.test_runs import ANTHROPIC, OPENAI, OPENING, read, reader, refusing
from tests.providers.wire.script import CallTool, Failure, Request, Spent, says
from tests.providers.wire.strict import tokens_in
from tests.runtime.support import Untouched, events_of, kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.transcript import TranscriptEntry
    from tests.providers.wire.script import Answer

__all__ = ["bare_environment"]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("bare_environment"),
    pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name),
]

LONE = "\ud800"


def answering(request: Request) -> Answer:
    """Write a summary when asked for one, and answer else."""
    return says(GOOD) if OPENING in str(request.body) else says('{"hour": 7}')


async def say(args: dict[str, Any], ctx: Any) -> str:
    """Say something."""
    return LONE


def tool_of(**fields: Any) -> Tool:
    """Return a tool."""
    schema = {"type": "object", "properties": {}}
    plain: dict[str, Any] = {"name": "say", "description": "Say.", "parameters": schema}
    return Tool(**{**plain, "invoke": say, **fields})


class Tide(BaseModel):
    """When the water comes."""

    hour: int = Field(description=f"as {LONE} o'clock")


#: Everything in a request that somebody wrote, with half a character in it.
HALVES: dict[str, dict[str, Any]] = {
    "instructions": {"instructions": f"Be {LONE}."},
    "description": {"tools": [tool_of(description=f"Say {LONE}.")]},
    "parameters": {
        "tools": [
            tool_of(parameters={"type": "object", "properties": {LONE: {"description": LONE}}})
        ]
    },
    "name": {"tools": [tool_of(name=f"say{LONE}")]},
    "handoff": {"handoffs": [Handoff(Agent("b", model="none"), description=f"To {LONE}.")]},
    "answer": {"output_type": Tide},
    "option": {
        "settings": ModelSettings(
            provider_options={
                name: {"metadata": {"user_id": LONE}} for name in ("openai", "anthropic")
            }
        )
    },
}


@pytest.mark.parametrize("fields", HALVES.values(), ids=HALVES)
async def test_everything_in_a_request_encodes(wire: Wire, fields: dict[str, Any]) -> None:
    """Half a character in schemas, instructions or options reaches no vendor, and stops no run."""
    async with serving(wire, answering) as (server, provider):
        result = await Runner.run(Agent("a", model=provider, **fields), f"go {LONE}")
        assert getattr(result.output, "hour", 7) == 7
        assert server.refusals == []
        str(server.bodies).encode()


async def test_a_tool_is_found_by_what_the_vendor_calls_it(wire: Wire) -> None:
    """A name that no vendor takes is sent as another one, and its calls run all the same."""

    def call_it(request: Request) -> Answer:
        offered = request.body["tools"][0]
        name = offered.get("function", offered)["name"]
        return says(CallTool(name)) if len(server.requests) == 1 else says("said")

    async with serving(wire, call_it) as (server, provider):
        agent = Agent("a", model=provider, tools=[tool_of(name=f"say{LONE}")])
        result = await Runner.run(agent, "go")
        assert result.output == "said"
        assert [e.output for e in result.entries if hasattr(e, "output")] == [LONE]


async def test_a_cached_prompt_is_counted_once(wire: Wire) -> None:
    """A prompt of 50,000 tokens is that, however much of it a cache served or stored."""
    spent = Spent(prompt=50_000, answer=3_000, read=45_000, written=4_000)
    steps = (says(CallTool("read", {"page": n}), spent=spent) for n in range(3))
    untouched = Untouched()
    policies: tuple[Any, ...] = (untouched, CompactingContextPolicy(context_window_tokens=90_000))
    script = [*steps, says("All read.", spent=spent)]
    for policy in policies:
        async with serving(wire, *script) as (_, provider):
            agent = Agent("a", model=provider, tools=[read], context_policy=policy)
            seen = await events_of(Runner.stream(agent, "Read."))
            assert kinds(seen)[-1] == "RunCompleted"
            assert "CompactionStarted" not in kinds(seen)
    assert [ctx.last_input_tokens for ctx in untouched.contexts] == [None, *[50_000] * 3]


#: Past steps of the kinds that are hard to repeat to a vendor once some of them are gone.
PAST: list[TranscriptEntry] = [
    *(U("go"), R("both"), C("a"), C("b"), T("b", tokens=900), T("a", tokens=900), A("read")),
    *(U("and?"), C("dead"), U("still there?"), A("yes"), C("call_0"), T("call_0", tokens=900)),
    *(A("so"), C("call_0"), T("call_0", tokens=900), A("and so")),
]


@pytest.mark.parametrize("summarised", [True, False], ids=["summary", "placeholders"])
async def test_going_on_after_a_compaction_is_accepted(wire: Wire, summarised: bool) -> None:
    """When calls or their results are gone, the next run's request is one the vendor takes."""
    stages = [AutoSummaryStage(keep_initial=0, keep_recent=2)] if summarised else None
    policy = CompactingContextPolicy(
        context_window_tokens=3_500, keep_recent_entries=2, stages=stages
    )
    told: dict[str, Any] = {"session": InMemorySession(), "session_id": "s"}
    async with serving(wire, answering) as (server, provider):
        agent = Agent("a", model=provider, context_policy=policy)
        start: Any = [*PAST, U("well?")]
        seen = await events_of(Runner.stream(agent, start, **told))
        (told_of,) = [event for event in seen if isinstance(event, events.ContextCompacted)]
        assert bool(summaries(told_of.entries_after)) is summarised
        for again in ("continue", "continue"):
            await Runner.run(agent, again, **told)
        assert server.refusals == []
        assert len(server.bodies) == 3 + summarised


async def test_a_request_that_the_vendor_will_not_have_fails_once(wire: Wire) -> None:
    """A 400 that is no matter of size ends the run at once, compacted or not."""
    kind = {"type": "invalid_request_error", "message": "unexpected tool_use_id: a"}
    policy = CompactingContextPolicy(context_window_tokens=3_500, keep_recent_entries=2)

    def refuse(request: Request) -> Any:
        if OPENING in str(request.body):
            return says(GOOD)
        return Failure(400, {"type": "error", "error": kind})

    async with serving(wire, refuse) as (server, provider):
        agent = Agent("a", model=provider, context_policy=policy)
        start: Any = [*PAST, U("continue")]
        seen = await events_of(Runner.stream(agent, start))
        failed = seen[-1]
        assert isinstance(failed, events.RunFailed)
        assert isinstance(failed.error, ProviderError)
        assert kinds(seen).count("ContextCompacted") == 1
        assert sum(OPENING not in str(body) for body in server.bodies) == 1


async def test_a_served_window_below_the_configured_one_costs_one_refusal(wire: Wire) -> None:
    """The window in a vendor's refusal limits requests and summary requests from then on."""
    refused: list[int] = []
    refusal = refusing(400, ANTHROPIC if wire is MESSAGES else OPENAI)

    def overflow(size: int, window: int) -> Failure:
        refused.append(size)
        return refusal(size, window)

    policy = CompactingContextPolicy(
        context_window_tokens=65_536, keep_recent_entries=4, max_entries=None
    )
    async with serving(wire, reader(30), window=8_192, overflow=overflow) as (server, provider):
        agent = Agent("reader", model=provider, tools=[read], context_policy=policy)
        seen = await events_of(Runner.stream(agent, "Read all pages."))
        assert isinstance(seen[-1], events.RunCompleted), seen[-1]
        assert len(refused) == 1
        assert max(map(tokens_in, server.bodies)) <= 8_192
        assert "ContextCompacted" in kinds(seen)


async def test_a_vendor_that_reports_nothing_is_compacted_for_in_time(wire: Wire) -> None:
    """When no answer tells what it took, sizes are estimated, and nothing is refused."""

    @tool
    def fetch(page: int) -> str:
        """Fetch a page."""
        return f"page {page}: " + "a line of text that says something new. " * 40

    def answer(request: Request) -> Answer:
        if OPENING in str(request.body):
            return says(GOOD, spent=Spent(prompt=0, answer=0))
        pages = sum(OPENING not in str(body) for body in server.bodies)
        step = CallTool("fetch", {"page": pages}) if pages < 20 else "All read."
        return says(step, spent=Spent(prompt=0, answer=0))

    policy = CompactingContextPolicy(context_window_tokens=6_000, max_entries=None)
    async with serving(wire, answer) as (server, provider):
        agent = Agent("a", model=provider, tools=[fetch], context_policy=policy)
        seen = await events_of(Runner.stream(agent, "Read."))
        assert kinds(seen)[-1] == "RunCompleted"
        assert "ContextCompacted" in kinds(seen)
        assert max(map(tokens_in, server.bodies)) <= 6_000


#: By vendor, the word for an answer that reached its limit.
CUT_OFF = {"responses": "max_output_tokens", "messages": "max_tokens"}
#: Replies to a request for a summary that are none, as vendors send them.
NO_SUMMARIES: dict[str, Callable[[str], Answer]] = {
    "cut_off": lambda wire: says(GOOD, finish=CUT_OFF.get(wire, "length")),
    "nothing": lambda wire: says("## Goal\n\n## State\n\n## Planned\n"),
    "call": lambda wire: says(CallTool("read", {"page": 1})),
    "remark_and_call": lambda wire: says("I look first.", CallTool("read", {"page": 1})),
    "half_a_stream": lambda wire: says(GOOD, cut=3),
}


@pytest.mark.parametrize("bad", NO_SUMMARIES.values(), ids=NO_SUMMARIES)
async def test_a_reply_that_is_no_summary_is_not_taken_for_one(
    wire: Wire, bad: Callable[[str], Answer]
) -> None:
    """The run is answered without a summary, which was asked for in plain text without tools."""
    stage = AutoSummaryStage(LLMSummarizer(retry=no_wait(2)), keep_initial=0, keep_recent=2)
    policy = CompactingContextPolicy(context_window_tokens=3_500, stages=[stage])

    def answer(request: Request) -> Answer:
        if OPENING not in str(request.body):
            return says("Fine.")
        assert not request.body.get("tools")
        return bad(wire.name)

    async with serving(wire, answer) as (server, provider):
        agent = Agent("a", model=provider, tools=[read], context_policy=policy)
        start: Any = [*PAST, U("well?")]
        seen = await events_of(Runner.stream(agent, start))
        last = seen[-1]
        assert isinstance(last, events.RunCompleted)
        assert last.result.output == "Fine."
        assert "ContextCompacted" not in kinds(seen)
        ended = [event.outcome for event in seen if isinstance(event, events.CompactionEnded)]
        assert ended == ["failed"]
        assert server.refusals == []
