"""A provider's report of one call is read as it is meant, and only that one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import Runner, events, tool
from lovia.context.stages import AutoSummaryStage
from lovia.testing import AssistantTurn, ScriptedProvider, ScriptedRequest, batch, call, text
from lovia.usage import Usage
from tests.cases.support import Conversation, policy_of
from tests.context.summarizer.fakes import GOOD
from tests.notation import COUNTER, A, C, T, U, words
from tests.runtime.support import Untouched, events_of, scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


@tool
def look(n: int = 0) -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=50_000, cache_read_tokens=45_000),
        Usage(input_tokens=50_000, cache_write_tokens=45_000),
        Usage(input_tokens=50_000, cache_read_tokens=25_000, cache_write_tokens=24_000),
        Usage(input_tokens=50_000, output_tokens=30_000, reasoning_tokens=30_000),
    ],
    ids=["read", "written", "both", "answered"],
)
async def test_parts_of_a_count_are_not_added_to_it(usage: Usage) -> None:
    """Cached tokens are in the prompt's count already, answers are not: nothing starts."""
    policy = policy_of(summarizer=None, context_window_tokens=90_000)
    provider = ScriptedProvider([call("look"), call("look"), text("ok")], usage=usage)
    seen = await events_of(
        Runner.stream(scripted(provider=provider, context_policy=policy, tools=[look]), "go")
    )
    assert not [event for event in seen if isinstance(event, events.CompactionStarted)]
    assert len(provider.requests) == 3


async def test_a_prompt_above_the_trigger_is_above_it_however_much_is_cached() -> None:
    """Cached tokens fill the window like any others."""
    policy = policy_of(context_window_tokens=90_000, max_entries=None)
    turn: list[TranscriptEntry] = [A("so", tokens=1_000), U("on")]
    talk = Conversation(policy, U("go"), *turn * 60)
    assert (await talk.view()).outcome is None
    assert (await talk.view(A(), U(), last_input_tokens=80_000)).outcome == "compacted"


def growing(start: int, step: int) -> Callable[[ScriptedRequest, Any], Usage]:
    """Report prompts that grow a little from call to call, and answers of 2,000 tokens."""
    calls = iter(range(1_000))

    def usage(request: ScriptedRequest, turn: Any) -> Usage:
        return Usage(input_tokens=start + step * next(calls), output_tokens=2_000)

    return usage


async def test_only_the_prompt_of_the_last_call_counts() -> None:
    """Over twelve tool steps each call is sized by the one before it, never by their sum."""
    policy = Untouched()
    turns = [*[call("look", {"n": n}, call_id=f"c{n}") for n in range(12)], text("ok")]
    provider = ScriptedProvider(turns, usage=growing(17_700, 100))
    await Runner.run(scripted(provider=provider, context_policy=policy, tools=[look]), "go")
    told = [ctx.last_input_tokens for ctx in policy.contexts]
    assert told == [None, *range(17_700, 18_900, 100)]


@pytest.mark.parametrize("parallel", [1, 5])
async def test_a_long_run_is_not_taken_for_a_long_request(parallel: int) -> None:
    """Totals that pass the window many times over start no compaction."""
    calls = [("look", {"n": n}, f"c{n}") for n in range(parallel)]
    turns: list[AssistantTurn] = [*[batch(*calls)] * 12, text("ok")]
    provider = ScriptedProvider(turns, usage=growing(10_000, 100))
    policy = policy_of(summarizer=None, context_window_tokens=20_000, max_entries=None)
    agent = scripted(provider=provider, context_policy=policy, tools=[look])
    async with Runner.stream(agent, "go") as handle:
        seen = [event async for event in handle]
        result = await handle.result()
    assert result.usage.total_tokens > 100_000
    assert not [event for event in seen if isinstance(event, events.CompactionStarted)]


async def test_the_calls_of_summaries_do_not_count_as_the_last_call() -> None:
    """After a pass with summary calls the next size is that of the view, not of their prompts."""

    def usage(request: ScriptedRequest, turn: Any) -> Usage:
        tokens = 900_000 if request.is_summary else request.tokens
        return Usage(input_tokens=tokens, output_tokens=10)

    @tool
    def read(n: int) -> str:
        """Read."""
        return words(600)

    turns = [*[call("read", {"n": n}, call_id=f"c{n}") for n in range(14)], text("ok")]
    provider = ScriptedProvider(turns, usage=usage, summarize=GOOD, counter=COUNTER)
    policy = policy_of(context_window_tokens=6_000, max_entries=None, stages=[AutoSummaryStage()])
    agent = scripted(provider=provider, context_policy=policy, tools=[read])
    seen = await events_of(Runner.stream(agent, "go"))
    told = [event for event in seen if isinstance(event, events.ContextCompacted)]
    summarised = [request for request in provider.requests if request.is_summary]
    assert 1 <= len(told) == len(summarised) <= 5
    for event in told:
        assert event.tokens_before_estimate is not None
        assert event.tokens_before_estimate < 7_000


async def test_a_count_from_before_a_compaction_says_nothing_after_it() -> None:
    """What the provider counted for a larger view neither sizes the smaller one nor calibrates."""
    policy = policy_of(context_window_tokens=10_000, max_entries=None)
    turn: list[TranscriptEntry] = [U("q", tokens=500), A("a", tokens=500)]
    talk = Conversation(policy, *turn * 9)
    compacted = await talk.view(U("so?"), last_input_tokens=9_000)
    assert compacted.outcome == "compacted"
    assert compacted.sizes is not None
    for count in (9_000, None, None):
        result = await talk.view(A(), U(), last_input_tokens=count)
        assert result.outcome is None
        assert result.sizes is not None
        assert result.sizes.request_before < compacted.sizes.request_after + 100


@pytest.mark.parametrize("count", [1, 100, 90_000])
async def test_a_count_that_cannot_be_right_does_not_calibrate(count: int) -> None:
    """A report far from the estimate changes no later size."""
    policy = policy_of(context_window_tokens=100_000, max_entries=None)
    talk = Conversation(policy, U("q", tokens=9_000))
    await talk.view()
    await talk.view(A(), C("a"), T("a"), last_input_tokens=count)
    result = await talk.view(A(), U("next"))
    assert result.sizes is not None
    assert result.sizes.request_before == pytest.approx(9_000, rel=0.02)
