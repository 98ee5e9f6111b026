"""Compaction starts by the size of the whole request, in every kind of run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    CheckpointOptions,
    InMemoryCheckpointer,
    InMemorySession,
    Mailbox,
    Runner,
    compact_session,
    events,
    tool,
)
from lovia.context import ContextPolicyResult
from lovia.errors import ContextOverflowError
from lovia.testing import ScriptedProvider, ScriptedRequest, call, text
from lovia.tools import Tool
from lovia.transcript import ReasoningEntry
from lovia.usage import Usage
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD
from tests.notation import COUNTER, A, C, T, U, words
from tests.runtime.support import Untouched, events_of, scripted

if TYPE_CHECKING:
    from lovia import TranscriptEntry
    from lovia.context import PolicyContext

pytestmark = pytest.mark.anyio


def chat(tokens: int, size: int = 500) -> list[TranscriptEntry]:
    """Return a conversation of about so many tokens, user and model in turn."""
    kinds: list[Any] = [U, A]
    return [kinds[number % 2](f"m{number}", tokens=size) for number in range(tokens // size)]


def wide_tools() -> list[Tool]:
    """Return sixty tools whose schemas take about 500 tokens each."""

    async def invoke(args: dict[str, Any], ctx: Any) -> str:
        return "ok"

    parameters = {"type": "object", "properties": {}}
    return [
        Tool(name=f"tool_{n}", description=words(470), parameters=parameters, invoke=invoke)
        for n in range(60)
    ]


@pytest.mark.parametrize(
    ("told", "due"),
    [
        ({}, False),
        ({"tools": wide_tools()}, True),
        ({"tools": [{"name": f"t{n}", "description": words(500)} for n in range(60)]}, True),
        ({"instructions": words(30_000)}, True),
        ({"response_format": {"description": words(30_000)}}, True),
    ],
    ids=["nothing", "tools", "schemas", "instructions", "response_format"],
)
async def test_everything_in_the_request_counts(told: dict[str, Any], due: bool) -> None:
    """A history that is far below the trigger is compacted when what goes with it is not."""
    policy = policy_of(context_window_tokens=40_000, trigger_ratio=0.85, max_entries=None)
    talk = Conversation(policy, *chat(15_000), **told)
    result = await talk.view(U("so?"))
    assert result.sizes is not None
    assert (result.outcome == "compacted") is due
    assert (result.sizes.request_before > 44_000) is due
    assert result.sizes.history >= result.sizes.request_before
    if due:
        assert result.sizes.request_after < 40_000


async def test_the_tools_of_a_run_count() -> None:
    """In a run with sixty tools the first request is compacted before it is sent."""
    provider = ScriptedProvider([text("ok")], window=40_000, summarize=GOOD, counter=COUNTER)
    policy = policy_of(summarizer=None, max_entries=None)
    agent = scripted(provider=provider, context_policy=policy, tools=wide_tools())
    seen = await events_of(Runner.stream(agent, [*chat(15_000), U("so?")]))
    assert len([event for event in seen if isinstance(event, events.ContextCompacted)]) == 1
    assert provider.requests[-1].tokens < 40_000


async def test_after_one_call_the_trigger_follows_the_provider() -> None:
    """An estimate that is half of what the provider counts is not believed twice."""
    policy = policy_of(context_window_tokens=200_000, max_entries=None)
    talk = Conversation(policy, *chat(80_000, 2_000))
    first = await talk.view()
    assert first.outcome is None
    second = await talk.view(A("ok"), U("go on"), last_input_tokens=163_000)
    assert second.outcome == "compacted"
    assert second.sizes is not None
    assert second.sizes.source == "provider"
    assert second.sizes.request_before == pytest.approx(163_000, rel=0.01)
    assert second.sizes.request_after <= 120_000 * 1.02


async def test_events_and_trigger_tell_the_same_numbers() -> None:
    """What is announced is what was decided on, and close to what the provider counts next."""

    def twice(request: ScriptedRequest, turn: Any) -> Usage:
        return Usage(input_tokens=request.tokens * 2, output_tokens=5)

    turns = [*[call("look", {"n": n}, call_id=f"c{n}") for n in range(30)], text("done")]
    provider = ScriptedProvider(turns, usage=twice, summarize=GOOD, counter=COUNTER)

    @tool
    def look(n: int) -> str:
        """Look."""
        return words(300)

    policy = policy_of(summarizer=None, context_window_tokens=10_000, max_entries=None)
    agent = scripted(provider=provider, context_policy=policy, tools=[look])
    seen = await events_of(Runner.stream(agent, "go", max_turns=40))
    told = [event for event in seen if isinstance(event, events.ContextCompacted)]
    assert told
    for event in told:
        assert event.tokens_before_estimate is not None
        assert 8_000 < event.tokens_before_estimate < 9_000
    counts = [2 * request.tokens for request in provider.requests if not request.is_summary]
    assert max(counts) < 9_000
    after = [event.tokens_after_estimate for event in told]
    assert all(any(abs(count - size) < 0.1 * count for count in counts) for size in after if size)


@pytest.mark.parametrize("kind", ["signature", "metadata"])
async def test_opaque_reasoning_counts(kind: str) -> None:
    """Fifty thoughts of a word with 40,000 sealed characters each are half a million tokens."""
    sealed: dict[str, Any] = {"signature": "s" * 40_000}
    if kind == "metadata":
        sealed = {"metadata": {"encrypted_content": "s" * 40_000}}
    kept = [ReasoningEntry("x", **sealed) for _ in range(50)]
    steps = [entry for n, r in enumerate(kept) for entry in (r, C(f"c{n}"), T(f"c{n}"), U("next"))]
    policy = policy_of(context_window_tokens=400_000, max_entries=None)
    result = await Conversation(policy, U("go"), *steps).view()
    assert result.sizes is not None
    assert result.sizes.history > 490_000
    assert result.outcome == "compacted"
    assert result.sizes.request_after < 250_000


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("kind", ["messages", "results"])
async def test_few_huge_entries_are_compacted(count: int, kind: str) -> None:
    """However few entries there are, tokens alone decide."""
    start: list[TranscriptEntry] = [U("go")]
    for number in range(count):
        if kind == "results":
            start += [C(f"c{number}"), T(f"c{number}", tokens=40_000)]
        else:
            start.append(A(f"a{number}", tokens=40_000))
    policy = policy_of(context_window_tokens=60_000, large_tool_result_chars=10**9)
    result = await Conversation(policy, *start, U("so?")).view()
    assert result.outcome == "compacted"
    assert result.sizes is not None
    assert result.sizes.request_after < 60_000


async def test_a_provider_that_reports_no_usage_is_compacted_for_by_estimate() -> None:
    """Without a single count from the provider no request is larger than the window."""
    turns = [*[call("look", {"n": n}, call_id=f"c{n}") for n in range(40)], text("done")]
    provider = ScriptedProvider(turns, usage=None, window=8_000, summarize=GOOD, counter=COUNTER)

    @tool
    def look(n: int) -> str:
        """Look."""
        return words(900)

    agent = scripted(provider=provider, context_policy=policy_of(summarizer=None), tools=[look])
    seen = await events_of(Runner.stream(agent, "go", max_turns=50))
    assert isinstance(seen[-1], events.RunCompleted)
    told = [event for event in seen if isinstance(event, events.ContextCompacted)]
    assert told
    assert not any(event.reactive for event in told)
    assert max(request.tokens for request in provider.requests) <= 8_000


class Recorder(Untouched):
    """A policy that notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[list[TranscriptEntry]] = []

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Note the transcript."""
        self.given.append(list(entries))
        return await super().apply(entries, ctx=ctx)


@tool
def look() -> str:
    """Look."""
    return "seen"


def check_given(policy: Recorder, transcript: list[TranscriptEntry], calls: int) -> None:
    """Each call of the policy got the whole transcript so far."""
    assert len(policy.given) == calls
    for given in policy.given:
        assert given
        assert given == transcript[: len(given)]
    assert [len(given) for given in policy.given] == sorted({len(g) for g in policy.given})
    assert transcript[len(policy.given[-1]) :] == [A("ok")]


@pytest.mark.parametrize("mode", ["run", "stream", "awaited", "entries"])
async def test_a_policy_gets_the_transcript(mode: str) -> None:
    """However a run is started and read, its policy sees everything that was said."""
    policy = Recorder()
    agent = scripted(call("look"), text("ok"), tools=[look], context_policy=policy)
    start: Any = [U("old"), A("so"), U("go")] if mode == "entries" else "go"
    if mode == "stream":
        async with Runner.stream(agent, start) as handle:
            async for _ in handle:
                pass
            result = await handle.result()
    elif mode == "awaited":
        result = await Runner.stream(agent, start)
    else:
        result = await Runner.run(agent, start)
    check_given(policy, result.entries, 2)


def test_a_policy_gets_the_transcript_of_a_synchronous_run() -> None:
    """A run from code that is not async is no exception."""
    policy = Recorder()
    agent = scripted(call("look"), text("ok"), tools=[look], context_policy=policy)
    check_given(policy, Runner.run_sync(agent, "go").entries, 2)


async def test_a_policy_gets_what_a_session_kept() -> None:
    """A later run of a conversation begins with everything that was said in it before."""
    session, policy = InMemorySession(), Recorder()
    for number in range(3):
        agent = scripted(text("ok"), context_policy=policy)
        await Runner.run(agent, f"go {number}", session=session, session_id="s")
    assert [len(given) for given in policy.given] == [1, 3, 5]
    assert policy.given[-1][:5] == (await session.load("s"))[:5]


async def test_a_policy_gets_the_transcript_after_a_handoff() -> None:
    """The next agent's policy sees what the first one did, and what it says itself."""
    first, second = Recorder(), Recorder()
    other = scripted(call("look"), text("ok"), name="b", tools=[look], context_policy=second)
    agent = scripted(call("transfer_to_b"), context_policy=first, handoffs=[other])
    result = await Runner.run(agent, "go")
    assert [len(given) for given in first.given] == [1]
    check_given(second, result.entries, 2)
    assert second.given[0][0] == U("go")


@pytest.mark.parametrize("how", ["stopped", "suspended"])
async def test_a_policy_gets_the_transcript_of_a_resumed_run(how: str) -> None:
    """A run that goes on from what was saved of it shows its policy all of both lives."""
    store, policy = InMemoryCheckpointer(), Recorder()

    @tool(needs_approval=how == "suspended")
    def peek() -> str:
        """Look closely."""
        return "seen"

    def agent(*script: Any, seen_by: Recorder) -> Any:
        return scripted(*script, tools=[look, peek], context_policy=seen_by)

    def react(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired):
            event.defer()
        if isinstance(event, events.TurnEnded) and how == "stopped" and event.turn == 2:
            handle.cancel("shutdown")

    saved = CheckpointOptions(store, "r", approvals={"call_peek": True})
    script = (call("look"), call("peek"))
    first = CheckpointOptions(store, "r")
    handle = Runner.stream(agent(*script, seen_by=Recorder()), "go", checkpoint=first)
    assert isinstance((await events_of(handle, react))[-1], events.RunFailed)
    steps = agent(call("look", call_id="again"), text("ok"), seen_by=policy)
    result = await Runner.run(steps, "go", checkpoint=saved)
    check_given(policy, result.entries, 2)
    assert policy.given[0][:1] == [U("go")]
    assert [type(entry).__name__ for entry in policy.given[0]].count("ToolResultEntry") == 2


class Asked(Recorder):
    """A policy that also acts on refusals and on request, and notes what it is given then."""

    max_reactive_retries = 1

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: Exception
    ) -> ContextPolicyResult:
        """Leave the oldest entry out."""
        self.given.append(list(entries))
        return ContextPolicyResult(entries[1:], changed=True)

    async def compact_now(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, focus: str | None = None
    ) -> ContextPolicyResult:
        """Leave the oldest entry out."""
        self.given.append(list(entries))
        return ContextPolicyResult(entries[1:], changed=True)


async def test_a_policy_gets_the_transcript_when_a_request_was_refused() -> None:
    """What is to be made smaller is the whole transcript, not what was left of it."""
    policy, start = Asked(), [U("old"), A("so"), U("go")]
    refusal = ContextOverflowError(reported_window=10)
    given: Any = list(start)
    await Runner.run(scripted(refusal, text("ok"), context_policy=policy), given)
    assert policy.given == [start, start]


async def test_a_policy_gets_the_transcript_when_somebody_asks() -> None:
    """A compaction by hand, in a run or between two, begins with everything that was said."""
    policy, session = Asked(), InMemorySession()
    told: dict[str, Any] = {"session": session, "session_id": "s"}
    agent = scripted(text("so"), text("ok"), context_policy=policy)
    await Runner.run(agent, "old", **told)
    await compact_session(session, "s", agent=agent)
    async with Runner.stream(agent, "go", **told) as handle:
        handle.compact()
        result = await handle.result()
    assert policy.given == [[U("old")], [U("old"), A("so")], [U("old"), A("so"), U("go")]]
    assert result.output == "ok"


async def test_a_policy_gets_what_was_said_meanwhile() -> None:
    """A message from the mailbox is in the transcript of the very next call."""
    policy, mailbox = Recorder(), Mailbox()

    @tool
    def interrupt() -> str:
        """Say something."""
        mailbox.push("hurry up")
        return "said"

    agent = scripted(call("interrupt"), text("ok"), tools=[interrupt], context_policy=policy)
    result = await Runner.run(agent, "go", mailbox=mailbox)
    assert policy.given[1][-1] == U("hurry up")
    check_given(policy, result.entries, 2)


async def test_a_policy_of_an_inner_run_gets_that_run() -> None:
    """An agent that serves as a tool has a transcript, and a policy, of its own."""
    inner, outer = Recorder(), Recorder()
    helper = scripted(text("ok"), name="helper", context_policy=inner)
    asking = helper.as_tool(name="ask")
    agent = scripted(call("ask", {"input": "count"}), text("ok"), tools=[asking])
    agent.context_policy = outer
    result = await Runner.run(agent, "go")
    assert inner.given == [[U("count")]]
    check_given(outer, result.entries, 2)


@pytest.mark.parametrize("mode", ["entries", "session", "handoff"])
async def test_the_default_policy_acts_in_every_kind_of_run(mode: str) -> None:
    """A long history is compacted before the first call that would send it."""
    history = chat(8_000, 400)
    policy = policy_of(context_window_tokens=4_000, max_entries=None)
    agent = scripted(text("ok"), name="b", context_policy=policy)
    start: Any = [*history, U("go")]
    kept: dict[str, Any] = {}
    if mode == "session":
        kept = {"session": InMemorySession(), "session_id": "s"}
        long = scripted(text("stored"))
        await Runner.run(long, start, **kept)
        start = "go on"
    if mode == "handoff":
        agent = scripted(call("transfer_to_b"), handoffs=[agent])
    seen = await events_of(Runner.stream(agent, start, **kept))
    (told,) = [event for event in seen if isinstance(event, events.ContextCompacted)]
    assert told.outcome == "compacted"
    assert len(told.entries_before) >= len(history)
    assert summaries(told.entries_after)
