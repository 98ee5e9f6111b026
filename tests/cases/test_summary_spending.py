"""What summaries cost is in the run's totals, visible apart, checked, and counted once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lovia import CancelToken, InMemorySession, RunBudget, Runner, tool
from lovia.context.stages import AutoSummaryStage
from lovia.context.summarizer import LLMSummarizer, Summary
from lovia.errors import BudgetExceeded, ProviderError, RunCancelled
from lovia.testing import ScriptedProvider, ScriptedRequest, call, text
from lovia.usage import Usage
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel, no_wait
from tests.notation import COUNTER, A, U, words
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context import PolicyContext
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

TURN = Usage(input_tokens=300, output_tokens=7, cache_read_tokens=20)
FOLD = Usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=3, reasoning_tokens=50)


def by_purpose(request: ScriptedRequest, turn: Any) -> Usage:
    """Report what a call of this purpose costs."""
    return FOLD if request.is_summary else TURN


def total(*parts: tuple[int, Usage]) -> Usage:
    """Return the sum of so many of each usage."""
    usage = Usage()
    for count, part in parts:
        for _ in range(count):
            usage.add(part)
    return usage


@tool
def fill() -> str:
    """Return much."""
    return words(2_000)


def chat(turns: int, tokens: int = 200) -> list[TranscriptEntry]:
    """Return a conversation in which each message has so many tokens."""
    kinds: list[Any] = [U, A]
    return [kinds[n % 2](f"m{n}", tokens=tokens) for n in range(2 * turns)]


def provider_of(*turns: Any, **settings: Any) -> ScriptedProvider:
    """Return a provider that reports by purpose and summarises well."""
    settings = {"summarize": GOOD, "counter": COUNTER, "usage": by_purpose, **settings}
    return ScriptedProvider(turns, **settings)


@pytest.mark.parametrize("overflow", [False, True], ids=["by_size", "after_a_refusal"])
async def test_a_run_reports_what_its_summaries_cost(overflow: bool) -> None:
    """The totals are the sum of every call that was answered, and the summaries' part is shown."""
    provider = provider_of(text("ok"), window=2_500 if overflow else None)
    policy = policy_of(
        summarizer=None, context_window_tokens=None if overflow else 4_000, max_entries=None
    )
    if overflow:
        provider.context_window = lambda: None  # type: ignore[method-assign] # a model that does not tell
    agent = scripted(provider=provider, context_policy=policy)
    result = await Runner.run(agent, [*chat(20), U("so?")])
    limit = 2_500 if overflow else 4_000
    folds = sum(request.is_summary and request.tokens <= limit for request in provider.requests)
    assert folds >= 1
    assert result.usage.summary == total((folds, FOLD))
    assert result.usage.total_tokens == 307 + 1_100 * folds
    assert result.usage.cache_read_tokens == 20 + 3 * folds


@pytest.mark.parametrize(
    "answers",
    [
        [Answer(GOOD, finish="length"), Answer(GOOD)],
        [Answer(""), Answer("")],
        [Answer(reasoning="hm"), Answer("", call="search")],
        [Answer("## Go", error=ProviderError("broke", retryable=True)), Answer(GOOD)],
        [Answer("I'm sorry, I can't do that.")],
    ],
    ids=["cut_off", "empty", "no_text", "broken", "refused"],
)
async def test_attempts_that_failed_are_counted(answers: list[Answer]) -> None:
    """Every attempt that the provider reported is in the totals, whatever became of it."""
    model = FakeModel(*answers)
    talk = Conversation(policy_of(model, context_window_tokens=4_000), *chat(20, 150), U("so?"))
    result = await talk.view()
    assert len(model.requests) in {1, 2}
    assert talk.usage.input_tokens == 1_000 * len(model.requests)
    assert talk.usage.summary.input_tokens == talk.usage.input_tokens
    assert result.usage == talk.usage.summary


@pytest.mark.parametrize(
    "limit",
    [{"max_total_tokens": 1_500}, {"max_input_tokens": 1_200}, {"max_output_tokens": 105}],
    ids=lambda limit: next(iter(limit)),
)
async def test_summaries_are_paid_from_the_budget(limit: dict[str, int]) -> None:
    """A budget that the summaries use up ends the run between two of them; done ones are kept."""
    model = FakeModel(window=1_500)
    budget = RunBudget(**limit)
    policy = policy_of(
        summarizer=LLMSummarizer(retry=no_wait()), token_counter=None, max_entries=None
    )
    talk = Conversation(policy, *chat(40), U("so?"), provider=model)
    with pytest.raises(BudgetExceeded):
        await talk.view(budget=budget)
    assert len(model.requests) == 2
    assert talk.usage.summary.output_tokens == 200
    kept = talk.state["compacting"]["summary"]["covers"]
    result = await talk.view()
    assert summaries(result.entries)
    assert talk.state["compacting"]["summary"]["covers"][0][1] > kept[0][1]


async def test_a_run_whose_summaries_break_the_budget_says_so() -> None:
    """The run fails with the budget's error, and its totals hold the summaries."""
    provider = provider_of(text("never"))
    policy = policy_of(summarizer=None, context_window_tokens=4_000, max_entries=None)
    agent = scripted(provider=provider, context_policy=policy)
    handle = Runner.stream(agent, [*chat(20), U("so?")], budget=RunBudget(max_total_tokens=1_000))
    with pytest.raises(BudgetExceeded) as caught:
        await handle.result()
    assert caught.value.limit == "max_total_tokens"
    assert handle.context.usage.summary.total_tokens == 1_100
    assert [request.is_summary for request in provider.requests] == [True]


async def test_totals_survive_being_saved() -> None:
    """A usage that was written and read again has the same totals and the same summaries' part."""
    talk = Conversation(policy_of(context_window_tokens=4_000), *chat(20), U("so?"))
    talk.usage.add(TURN)
    await talk.view()
    again = Usage.from_dict(json.loads(json.dumps(talk.usage.to_dict())))
    assert again == talk.usage
    assert again.summary == talk.usage.summary
    assert again.summary.total_tokens == 1_100


async def test_a_conversation_that_goes_on_pays_no_summary_twice() -> None:
    """The next run of a session replays the summary: it costs nothing and is not counted again."""
    session = InMemorySession()
    policy = policy_of(summarizer=None, context_window_tokens=4_000, max_entries=None)
    spent: list[Usage] = []
    folds = 0
    for start in ([*chat(20), U("so?")], "and?", "and now?"):
        provider = provider_of(text("ok"))
        agent = scripted(provider=provider, context_policy=policy)
        result = await Runner.run(agent, start, session=session, session_id="s")
        spent.append(result.usage)
        folds += sum(request.is_summary for request in provider.requests)
        assert len(summaries(provider.requests[-1].entries)) == 1
    assert [usage.summary.total_tokens for usage in spent] == [1_100 * folds, 0, 0]
    assert [usage.input_tokens for usage in spent] == [300 + 1_000 * folds, 300, 300]


async def test_summaries_of_an_inner_run_are_in_the_outer_totals_once() -> None:
    """What compaction costs inside a tool that is an agent is part of the outer run's bill."""

    def folds_only(request: ScriptedRequest, turn: Any) -> Usage | None:
        return FOLD if request.is_summary else None

    inner = provider_of(call("fill"), call("fill"), text("done"), usage=folds_only)
    policy = policy_of(
        summarizer=None,
        context_window_tokens=4_000,
        max_entries=None,
        large_tool_result_chars=10**6,
        stages=[AutoSummaryStage(keep_initial=0)],
    )
    helper = scripted(provider=inner, name="helper", tools=[fill], context_policy=policy)
    outer = provider_of(call("ask", {"input": words(300)}), text("ok"))
    agent = scripted(provider=outer, tools=[helper.as_tool(name="ask")])
    result = await Runner.run(agent, "go")
    folds = sum(request.is_summary for request in inner.requests)
    assert folds >= 1
    assert result.usage.total_tokens == 307 * len(outer.requests) + 1_100 * folds
    assert result.usage.summary == total((folds, FOLD))


class Reporting:
    """A summarizer of somebody else's, which reports what it spends in one of three ways."""

    def __init__(self, how: str) -> None:
        self.how = how

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> Summary | str:
        """Report to the context, with the summary, or both."""
        if self.how != "with_the_summary":
            ctx.usage.add_summary(FOLD)
        if self.how == "to_the_context":
            return "short"
        return Summary("short", usage=FOLD)


@pytest.mark.parametrize("how", ["to_the_context", "with_the_summary", "both"])
async def test_a_summarizers_report_counts_once_in_whatever_way_it_comes(how: str) -> None:
    """One summary is one summary in the totals, also when it was reported twice."""
    policy = policy_of(summarizer=Reporting(how), context_window_tokens=4_000, max_entries=None)
    talk = Conversation(policy, *chat(20), U("so?"))
    result = await talk.view()
    folds = result.metadata["chunks_folded"]
    assert talk.usage.summary == result.usage == total((folds, FOLD))
    assert talk.usage.total_tokens == 1_100 * folds


async def test_a_policy_that_knows_only_totals_is_shown_as_summaries() -> None:
    """What a policy adds to the run's usage is the summaries' part, whether it says so or not."""

    class Adding:
        async def apply(
            self, entries: list[TranscriptEntry], *, ctx: PolicyContext
        ) -> list[TranscriptEntry]:
            ctx.usage.add(FOLD)
            return entries

    agent = scripted(provider=provider_of(text("ok")), context_policy=Adding())
    with pytest.warns(DeprecationWarning, match="Adding"):
        result = await Runner.run(agent, "go")
    assert result.usage.summary == FOLD
    assert result.usage.total_tokens == 307 + 1_100


async def test_a_cancelled_attempt_is_counted() -> None:
    """What the provider reported before a summary was interrupted has been spent."""
    token = CancelToken()

    def stop(request: Any) -> Answer:
        token.cancel("user")
        return Answer(GOOD)

    model = FakeModel(then=stop)
    talk = Conversation(policy_of(model, context_window_tokens=4_000), *chat(20), U("so?"))
    with pytest.raises(RunCancelled):
        await talk.view(cancel=token)
    assert talk.usage.summary.input_tokens == 1_000
