"""No summary request is larger than the window of the model that is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lovia import Runner, events, tool
from lovia.context.stages import AutoSummaryStage
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import ContextOverflowError
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import InputEntry, ToolResultEntry
from tests.cases.support import Conversation, check_view, policy_of, summaries
from tests.context.summarizer.fakes import COUNTER as BYTES
from tests.context.summarizer.fakes import GOOD, FakeModel, no_wait
from tests.notation import COUNTER, A, C, R, S, T, U, words
from tests.runtime.support import events_of, scripted

if TYPE_CHECKING:
    from lovia.context import CompactingContextPolicy
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

SENTENCE = "the quick brown fox jumps over the lazy dog and reads src/app.py again. "


def prose(tokens: int) -> str:
    """Return so much text, as the counter of bytes counts it."""
    return (SENTENCE * (tokens // 10 + 2))[: tokens * len(SENTENCE) // BYTES.text(SENTENCE)]


def chat(entries: int, tokens: int) -> list[TranscriptEntry]:
    """Return so many messages of a size, user and model in turn."""
    kinds: list[Any] = [U, A]
    return [kinds[number % 2](f"{number}: {prose(tokens)}") for number in range(entries)]


@tool
def look() -> str:
    """Look."""
    return "seen"


def covered_by(talk: Conversation) -> set[int]:
    """Return the places in the transcript that the saved summary stands for."""
    spans = talk.state["compacting"]["summary"]["covers"]
    return {index for start, stop in spans for index in range(start, stop)}


def asking_the_run(**settings: Any) -> CompactingContextPolicy:
    """Return a policy that counts bytes and has the run's own model write its summaries."""
    settings.setdefault("summarizer", LLMSummarizer(retry=no_wait()))
    return policy_of(token_counter=None, **settings)


@pytest.mark.parametrize("entries", [30, 301])
async def test_a_history_of_many_windows_is_folded_step_by_step(entries: int) -> None:
    """Sixty windows of history: every request fits, and coverage only grows."""
    model = FakeModel(window=1_000)
    seen: list[Any] = []
    talk = Conversation(asking_the_run(), *chat(entries, 200), provider=model, emit=seen.append)
    result = await talk.view()
    assert result.outcome == "compacted"
    assert result.sizes is not None
    assert result.sizes.history > entries * 180
    assert result.sizes.request_after < 1_000
    assert model.refused == 0
    assert all(request.size <= 1_000 for request in model.requests)
    folds = [event.index for event in seen if isinstance(event, events.SummaryFoldCompleted)]
    assert folds == list(range(1, len(folds) + 1))
    covered = covered_by(talk)
    for number in range(30):
        view = (await talk.view(*chat(2, 200))).entries
        assert len(summaries(view)) == 1
        grown = covered_by(talk)
        assert grown >= covered, number
        covered = grown
    assert model.refused == 0
    assert len(covered) > entries


async def test_what_is_a_little_too_large_is_cleared_before_it_is_summarised() -> None:
    """Old tool results go first; while that is enough, no model is asked."""
    model = FakeModel(window=1_000)
    steps = [entry for n in range(6) for entry in (C(f"c{n}"), T(f"c{n}", prose(180)))]
    policy = asking_the_run(keep_recent_tool_results=1)
    talk = Conversation(policy, U("go"), *steps, A("so"), U("and?"), provider=model)
    result = await talk.view()
    assert result.sizes is not None
    assert result.sizes.history > 1_000 > result.sizes.request_after
    assert (result.reason, model.requests) == ("tool_result_retention", [])


@pytest.mark.parametrize("entries", [7, 13])
async def test_what_is_a_little_too_large_is_folded(entries: int) -> None:
    """Where nothing cheaper helps, one fold brings the request below the window."""
    model = FakeModel(window=1_000)
    talk = Conversation(asking_the_run(), *chat(entries, 1_200 // entries), provider=model)
    result = await talk.view()
    assert result.sizes is not None
    assert result.sizes.history > 1_000
    assert result.sizes.request_after < 800
    assert result.reason == "auto_summary"
    assert all(request.size <= 1_000 for request in model.requests)


@pytest.mark.parametrize("before", [[], [U("hi"), A("hello")]])
async def test_a_message_that_fits_no_window_is_an_honest_error(
    before: list[TranscriptEntry],
) -> None:
    """A newest message that is too large alone is neither cut nor retried for ever."""
    provider = ScriptedProvider([text("never")], window=1_000, summarize=GOOD, counter=COUNTER)
    policy = policy_of(summarizer=None)
    agent = scripted(provider=provider, context_policy=policy)
    start: Any = [*before, U("word", tokens=1_200)]
    with pytest.raises(ContextOverflowError) as caught:
        await Runner.run(agent, start)
    assert caught.value.reported_window == 1_000
    turns = [request for request in provider.requests if not request.is_summary]
    assert len(turns) <= 2
    assert all(start[-1] in request.entries for request in turns)


@pytest.mark.parametrize("where", ["instructions", "system", "tools"])
async def test_a_request_whose_fixed_part_fits_no_window_is_an_honest_error(where: str) -> None:
    """When what may not be touched is too large alone, the refusal is raised, and soon."""
    provider = ScriptedProvider([text("never")], window=1_000, summarize=GOOD, counter=COUNTER)
    fields: dict[str, Any] = {"instructions": words(1_200)} if where == "instructions" else {}
    if where == "tools":
        fields["tools"] = [replace(look, description=words(1_200))]
    lead = [S(words(1_200))] if where == "system" else []
    start: Any = [*lead, *chat(10, 50), U("so?")]
    agent = scripted(provider=provider, context_policy=policy_of(summarizer=None), **fields)
    with pytest.raises(ContextOverflowError):
        await Runner.run(agent, start)
    turns = [request for request in provider.requests if not request.is_summary]
    assert 1 <= len(turns) <= 2
    assert len(provider.requests) <= 5


@pytest.mark.parametrize("history", [10_000, 40_000, 60_000, 200_000])
@pytest.mark.parametrize("size", [400, 5_000])
async def test_a_window_smaller_than_configured_costs_one_refusal(history: int, size: int) -> None:
    """A window that a refusal names limits requests and summary requests alike from then on."""
    turns = [*[call("look", {"n": n}) for n in range(6)], text("done")]
    provider = ScriptedProvider(
        turns, window=8_192, summarize=GOOD, counter=COUNTER, usage="counted"
    )
    policy = policy_of(
        summarizer=LLMSummarizer(retry=no_wait()), context_window_tokens=65_536, max_entries=None
    )
    start: Any = [
        entry
        for number in range(history // size // 2)
        for entry in (U(f"q{number}", tokens=size), A(f"a{number}", tokens=size))
    ]
    agent = scripted(provider=provider, context_policy=policy)
    seen = await events_of(Runner.stream(agent, [*start, U("go")]))
    assert isinstance(seen[-1], events.RunCompleted)
    refused = [request for request in provider.requests if request.tokens > 8_192]
    assert len(refused) == 1


async def test_a_learned_window_outlives_the_process() -> None:
    """A policy that takes up a saved conversation knows the window that a refusal taught."""
    settings: dict[str, Any] = {"context_window_tokens": 65_536, "max_entries": None}
    talk = Conversation(policy_of(**settings), *chat(40, 500))
    assert (await talk.view()).outcome is None
    assert (await talk.refused(8_192)).outcome == "compacted"
    other = talk.resumed(policy_of(**settings))
    result = await other.view(*chat(12, 500))
    assert result.sizes is not None
    assert (result.sizes.window, result.outcome) == (8_192, "compacted")


@pytest.mark.parametrize("what", ["results", "arguments", "thoughts"])
async def test_chunks_are_measured_by_what_is_sent_of_them(what: str) -> None:
    """Ten huge entries of which little is read go into one request, and none goes out empty."""
    model = FakeModel(window=16_000)
    huge = prose(20_000)
    steps: list[TranscriptEntry] = []
    for number in range(10):
        call_id = f"c{number}"
        arguments = huge if what == "arguments" else "{}"
        steps += [R(huge if what == "thoughts" else "hm"), C(call_id, arguments=arguments)]
        steps += [T(call_id, huge if what == "results" else "ok")]
    stage = AutoSummaryStage(LLMSummarizer(retry=no_wait()), keep_recent=2)
    talk = Conversation(asking_the_run(stages=[stage]), U("go"), *steps, U("?"), provider=model)
    result = await talk.view()
    assert result.outcome == "compacted"
    (request,) = model.requests
    assert request.text.count("<result ") == 10
    assert request.text.count(SENTENCE) > 10
    assert request.size <= 16_000
    assert not any(isinstance(entry, ToolResultEntry) for entry in result.entries)


async def test_a_window_of_the_summarizers_own_is_what_counts() -> None:
    """A summarizer with a smaller window than the run's gets requests that fit its own."""
    model = FakeModel(window=2_000)
    policy = policy_of(model, token_counter=None, context_window_tokens=20_000, max_entries=None)
    talk = Conversation(policy, *chat(100, 400), provider=FakeModel(window=20_000, name="big"))
    result = await talk.view()
    assert result.outcome == "compacted"
    assert len(model.requests) > 5
    assert model.refused == 0
    assert all(request.size <= 2_000 for request in model.requests)


async def test_one_entry_larger_than_the_summarizers_window_is_read_in_pieces() -> None:
    """A message that alone is too large is folded piece by piece, and the pass says so."""
    model = FakeModel(window=1_500)
    begun = InputEntry("user", f"begin {prose(6_000)} end")
    start: list[TranscriptEntry] = [begun, A("ok"), U("and now?")]
    talk = Conversation(asking_the_run(), *start, provider=model)
    result = await talk.view()
    assert result.outcome == "compacted"
    assert result.metadata["degraded"] is True
    assert model.refused == 0
    assert "begin" in model.requests[0].text
    assert any(" end" in request.text for request in model.requests)
    check_view(result.entries, start)


@pytest.mark.parametrize("window", [120, 300])
async def test_a_window_too_small_for_any_summary_request_is_not_tried(window: int) -> None:
    """Where the fixed text alone does not fit, nothing is sent, and the cheap stages still act."""
    model = FakeModel(window=window)
    policy = asking_the_run(max_entries=None, keep_recent_entries=4, keep_initial_entries=1)
    talk = Conversation(policy, *chat(30, 20), U("so?"), provider=model)
    result = await talk.view()
    assert model.requests == []
    assert result.outcome in {"compacted", "partial"}
    assert "middle_snip" in [s.name for s in result.stages if s.outcome == "applied"]
    assert talk.usage.summary.total_tokens == 0


@pytest.mark.parametrize("entries", [30, 100])
async def test_a_summarizers_window_that_is_smaller_than_stated_costs_one_refusal(
    entries: int,
) -> None:
    """After a refusal that names the window all requests fit it, in this pass and in later ones."""
    model = FakeModel(window=2_000, stated=20_000)
    policy = policy_of(model, token_counter=None, context_window_tokens=16_000, max_entries=None)
    talk = Conversation(policy, *chat(entries, 12_000 // entries), provider=FakeModel(name="big"))
    outcomes = [(await talk.view(*chat(2, 500))).outcome for _ in range(12)]
    assert outcomes.count("compacted") >= 2
    assert model.refused == 1
    assert sum(request.size > 2_000 for request in model.requests) == 1
    again = talk.resumed(policy)
    await again.view(*chat(8, 500))
    assert model.refused == 1


@pytest.mark.parametrize("entries", [20, 40])
async def test_a_refusal_that_names_no_window_still_leads_to_a_summary(entries: int) -> None:
    """Requests become smaller until they are taken, and what was too large is not sent again."""
    model = FakeModel(window=2_000, stated=20_000, reported=False)
    policy = policy_of(model, token_counter=None, context_window_tokens=16_000, max_entries=None)
    talk = Conversation(policy, *chat(entries, 14_000 // entries), provider=FakeModel(name="big"))
    result = await talk.view()
    assert result.outcome == "compacted"
    refused = [request.size for request in model.requests if request.size > 2_000]
    assert 1 <= len(refused) <= 5
    assert refused == sorted(refused, reverse=True)
    await talk.view(*chat(8, 500))
    assert model.refused == len(refused)
