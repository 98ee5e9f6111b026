"""System messages, the goal, the newest request and the rules survive every compaction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from lovia import Runner
from lovia.context.summarizer import ExtractiveSummarizer, LLMSummarizer
from lovia.testing import ScriptedProvider, text
from lovia.transcript import ImagePart, InputEntry, TextPart
from lovia.transcript.entries import text_of
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, FakeModel, Request, no_wait
from tests.notation import COUNTER, A, C, S, T, U, words
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context import PolicyContext
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

GOAL = "GOAL-7: make every test of the parser pass."
NEWEST = "NEWEST-9: and write down what you changed."


def steps(count: int, tokens: int = 60) -> list[TranscriptEntry]:
    """Return so many tool steps."""
    return [
        entry
        for n in range(count)
        for entry in (A(f"step {n}"), C(f"c{n}"), T(f"c{n}", f"out{n}", tokens=tokens))
    ]


def leading(count: int) -> list[TranscriptEntry]:
    """Return so many system and developer messages, no two alike."""
    roles: list[Any] = ["system", "developer"]
    return [InputEntry(roles[n % 2], f"rule {n}") for n in range(count)]


def attentive(request: Request) -> str:
    """Summarise as a model does that quotes the goal when it reads it."""
    found = re.search(re.escape(GOAL), request.text)
    return GOOD.replace("port it", found[0] if found else "unknown")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("how", ["threshold", "entries", "refused", "manual"])
@pytest.mark.parametrize("keep", [0, 3])
async def test_leading_messages_stay_as_they_are_and_come_once(
    how: str, count: int, keep: int
) -> None:
    """The first system and developer messages open every view, the same objects, nothing added."""
    lead = leading(count)
    policy = policy_of(
        context_window_tokens=2_000 if how == "threshold" else None,
        max_entries=20 if how == "entries" else None,
        keep_initial_entries=keep,
        keep_recent_entries=6,
    )
    talk = Conversation(policy, *lead, U("go"), *steps(30), U("so?"))
    if how == "refused":
        result = await talk.refused(1_500)
    elif how == "manual":
        result = await talk.compacted()
    else:
        result = await talk.view()
    assert result.outcome == "compacted"
    for view in (result.entries, (await talk.view(A(), U("and?"))).entries):
        assert all(a is b for a, b in zip(view, lead, strict=False))
        assert [entry for entry in view if entry in lead] == lead


async def test_a_system_message_in_the_input_follows_the_agents_own() -> None:
    """Instructions and a system message of the history are both in the compacted request, once."""
    provider = ScriptedProvider([text("ok")], summarize=GOOD, counter=COUNTER)
    policy = policy_of(summarizer=None, context_window_tokens=3_000, max_entries=None)
    agent = scripted(provider=provider, context_policy=policy, instructions="Be brief.")
    await Runner.run(agent, [S("Speak French."), U("go"), *steps(50), U("so?")])
    request = provider.requests[-1].entries
    assert [text_of(entry) for entry in request[:2]] == ["Be brief.", "Speak French."]
    roles = [entry.role for entry in request if isinstance(entry, InputEntry)]
    assert roles.count("system") == 2


@pytest.mark.parametrize("lead", [0, 1, 4])
@pytest.mark.parametrize("large", [False, True], ids=["short_goal", "long_goal"])
@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("way", ["model", "extract", "snip"])
async def test_goal_and_newest_request_survive_200_steps(
    way: str, keep: int, large: bool, lead: int
) -> None:
    """The newest request is there word for word; so is the goal, or the summary quotes it."""
    policy = policy_of(
        summarizer=ExtractiveSummarizer()
        if way == "extract"
        else LLMSummarizer(FakeModel(then=attentive), retry=no_wait()),
        context_window_tokens=None if way == "snip" else 4_000,
        max_entries=80 if way == "snip" else None,
        keep_initial_entries=keep,
        keep_recent_entries=40 if way == "snip" else 200,
    )
    goal = f"{GOAL} {words(700)}" if large else GOAL
    talk = Conversation(policy, *leading(lead), U(goal))
    for _ in range(40):
        await talk.view(*steps(5))
    view = (await talk.view(U(NEWEST))).entries
    assert view[-1] == U(NEWEST)
    assert any(GOAL in text_of(entry) for entry in view)
    assert len(summaries(view)) == (way != "snip")
    view = (await talk.view(*steps(60))).entries
    assert view.count(U(NEWEST)) == 1
    assert any(GOAL in text_of(entry) for entry in view)


async def test_a_newest_request_stays_in_its_place() -> None:
    """Steps before and after it are summarised; it stands between, after the summary."""
    policy = policy_of(context_window_tokens=3_000, max_entries=None, keep_initial_entries=0)
    parts = (TextPart(NEWEST), ImagePart(url="https://example.org/plan.png"))
    newest = U(parts=parts)
    talk = Conversation(policy, U(GOAL), *steps(40), newest)
    for _ in range(12):
        view = (await talk.view(*steps(5))).entries
        (summary,) = summaries(view)
        assert view.count(newest) == 1
        assert view.index(summary) < view.index(newest)


def rules_of(ctx: PolicyContext) -> str:
    """Return the rules that bind a run."""
    return f"never push to main ({ctx.agent})"


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [("never push to main", "never push to main"), (rules_of, "never push to main (bot)")],
    ids=["text", "function"],
)
async def test_rules_are_in_every_summary_request(constraints: Any, expected: str) -> None:
    """A summarizer that is told rules passes them on with each request, between tags of theirs."""
    model = FakeModel(window=1_500)
    summarizer = LLMSummarizer(model, retry=no_wait(), constraints=constraints)
    policy = policy_of(summarizer=summarizer, context_window_tokens=4_000, max_entries=None)
    chat: list[TranscriptEntry] = [U("q", tokens=400), A("a", tokens=400)]
    talk = Conversation(policy, *chat * 10, U("so?"), agent="bot")
    await talk.view()
    assert len(model.requests) > 1
    for request in model.requests:
        assert f"<rules>\n{expected}\n</rules>" in request.text
    assert all(expected not in text_of(entry) for entry in talk.transcript)


def is_rule(entry: TranscriptEntry) -> bool:
    """Tell whether a message states a rule."""
    return text_of(entry).startswith("RULE")


@pytest.mark.parametrize("how", ["threshold", "entries", "refused", "manual"])
async def test_pinned_messages_stay_word_for_word(how: str) -> None:
    """What the application pins is in every view, in order, whatever else goes."""
    pinned: Sequence[TranscriptEntry] = [U("RULE 1: ask first"), A("RULE 2: noted")]
    policy = policy_of(
        context_window_tokens=2_000 if how == "threshold" else None,
        max_entries=20 if how == "entries" else None,
        keep_recent_entries=6,
        reactive_keep_recent_entries=2,
        pinned=is_rule,
    )
    talk = Conversation(policy, U("go"), *steps(15), pinned[0], *steps(15), pinned[1], *steps(15))
    if how == "refused":
        result = await talk.refused(1_500)
    elif how == "manual":
        result = await talk.compacted()
    else:
        result = await talk.view()
    assert result.outcome == "compacted"
    for view in (result.entries, (await talk.view(U("and?"), *steps(60))).entries):
        assert [entry for entry in view if is_rule(entry)] == pinned


async def test_a_pinned_result_keeps_its_call() -> None:
    """A pin on one entry of a batch holds the batch."""
    batch: list[TranscriptEntry] = [C("a"), C("b"), T("a", "RULE 3: pinned"), T("b", tokens=50)]
    policy = policy_of(max_entries=10, keep_recent_entries=3, pinned=is_rule)
    talk = Conversation(policy, U("go"), *steps(8), *batch, *steps(8), U("so?"))
    view = (await talk.view()).entries
    assert [entry for entry in view if entry in batch] == batch
