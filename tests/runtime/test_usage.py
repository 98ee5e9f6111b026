"""All model calls of a run are counted, once, wherever they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    CompactingContextPolicy,
    InMemoryCheckpointer,
    LLMSummarizer,
    ProviderError,
    Runner,
    Usage,
)
from lovia.testing import AssistantTurn, ScriptedProvider, call, text
from tests.notation import A, C, T, U, words
from tests.runtime.saving import add, saved_run
from tests.runtime.support import provider_of, scripted

if TYPE_CHECKING:
    from lovia import Agent

pytestmark = pytest.mark.anyio

SUMMARY = "## Goal\nport it\n\n## State\nhalf done\n\n## Planned\nthe tests"
SPENT = Usage(input_tokens=900, output_tokens=100)


def probe(*script: Any) -> Agent[Any]:
    """Return an agent each of whose model calls reports 1,000 tokens, summaries too."""
    provider = ScriptedProvider(script, window=4_096, usage=SPENT, summarize=SUMMARY)
    policy = CompactingContextPolicy(summarizer=LLMSummarizer())
    return scripted(provider=provider, context_policy=policy, tools=[add])


def history(tokens: int) -> list[Any]:
    """Return a conversation of about so many tokens."""
    said: list[Any] = [U("port the service")]
    for number in range(tokens // 400):
        said += [U(words(150, f"u{number}")), A(words(150, f"a{number}"))]
        said += [C(f"c{number}"), T(f"c{number}", words(100, f"t{number}"))]
    return [*said, U("and now?")]


async def test_two_summary_calls_and_an_answer_are_three_thousand_tokens() -> None:
    """2 summary calls and 1 answer of 1,000 tokens each are 3,000, of which summaries 2,000."""
    agent = probe(text("done"))
    result = await Runner.run(agent, history(3_200))
    asked = provider_of(agent).requests
    assert [request.is_summary for request in asked] == [True, True, False]
    assert result.usage.total_tokens == 3_000
    assert result.usage.summary.total_tokens == 2_000


@pytest.mark.parametrize("lives", [1, 2, 3])
async def test_lives_of_a_run_add_up(lives: int) -> None:
    """However often a run is interrupted, its usage is the sum of what was reported."""
    store = InMemoryCheckpointer()
    agents = [probe(call("add", {"a": 1}), ProviderError("cut")) for _ in range(lives - 1)]
    agents.append(probe(text("done")))
    result: Any = None
    for agent in agents:
        _, result = await saved_run(agent, store, input=history(3_200))
    answered = sum(len(provider_of(agent).requests) for agent in agents) - (lives - 1)
    assert result.usage.total_tokens == answered * 1_000
    assert result.usage.summary.total_tokens == 2_000
    assert result.turns == lives


async def test_what_agents_inside_tools_spend_is_counted() -> None:
    """An agent as a tool folds its usage into the outer run's, also when that is resumed."""
    inner = scripted(AssistantTurn("inner", usage=SPENT), name="inner")
    outer = scripted(
        call("ask_inner", {"input": "x"}), ProviderError("cut"), tools=[inner.as_tool()]
    )
    store = InMemoryCheckpointer()
    _, error = await saved_run(outer, store)
    assert isinstance(error, ProviderError)
    _, result = await saved_run(scripted(text("ok"), tools=[inner.as_tool()]), store)
    assert result.usage.total_tokens == 1_000 + 2 + 2
