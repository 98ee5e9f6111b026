"""Estimates follow the counts of each provider and model, while these make sense."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import PolicyContext, current_prompt_tokens
from lovia.context.pipeline import memory
from lovia.context.pipeline.sizing import ModelFacts, RequestSize, WindowLimits
from lovia.testing import ScriptedProvider
from tests.cases.interrupting import cancelled_at
from tests.cases.support import Conversation, policy_of
from tests.context.summarizer.fakes import Answer, FakeModel
from tests.notation import COUNTER, A, S, U

if TYPE_CHECKING:
    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def turns(start: int, stop: int, tokens: int = 100) -> list[TranscriptEntry]:
    """Return numbered questions and answers."""
    return [
        entry
        for n in range(start, stop)
        for entry in (U(f"u{n}", tokens=tokens), A(f"a{n}", tokens=tokens))
    ]


def request_of(result: ContextPolicyResult) -> int:
    """Return the size of the request that a result is for."""
    assert result.sizes is not None
    return result.sizes.request_after


def model_named(name: str, model: str, window: int | None = None) -> ScriptedProvider:
    """Return a provider that is never called."""
    return ScriptedProvider([], name=name, model=model, window=window)


async def test_what_one_model_counts_says_nothing_of_another() -> None:
    """A correction holds for the provider and model that it was learned from, in any session."""
    policy = policy_of(context_window_tokens=1_000_000)
    models = [model_named("v", "a"), model_named("v", "b"), model_named("w", "a")]
    talks = [Conversation(policy, S(), *turns(0, 10), session_id=f"s{n}") for n in range(6)]
    plain = request_of(await talks[0].view(provider=models[0]))
    await talks[0].view(provider=models[0], last_input_tokens=2 * plain)
    sizes = [request_of(await talks[1 + k].view(provider=models[k])) for k in range(3)]
    assert sizes == [2 * plain, plain, plain]


async def test_a_count_by_the_model_before_is_no_count_by_this_one() -> None:
    """When another model takes over, the last count of the first one is not trusted for it."""
    talk = Conversation(policy_of(context_window_tokens=1_000_000), S(), *turns(0, 10))
    first, second = model_named("v", "a"), model_named("v", "b")
    plain = request_of(await talk.view(provider=first))
    assert request_of(await talk.view(provider=second, last_input_tokens=2 * plain)) == plain
    assert request_of(await talk.view(provider=second)) == plain


@pytest.mark.parametrize("factor", [1.1, 1.8, 2.4, 0.7, 0.5])
async def test_a_correction_is_learned_and_kept(factor: float) -> None:
    """After one plausible count every later size is corrected, in the next process as well."""
    settings: dict[str, Any] = {"context_window_tokens": 20_000, "max_entries": None}
    talk = Conversation(policy_of(**settings), S(), *turns(0, 10))
    plain = request_of(await talk.view())
    after = await talk.view(*turns(10, 11), last_input_tokens=round(plain * factor))
    raw = COUNTER.entries(talk.transcript)
    assert request_of(after) == pytest.approx(max(raw * factor, plain * factor), rel=0.01)
    assert after.sizes is not None
    assert after.sizes.source == "provider"
    await talk.view(*turns(11, 260))  # a pass, after which the state is saved
    resumed = talk.resumed(policy_of(**settings))
    later = await resumed.view()
    assert later.sizes is not None
    assert later.sizes.source == "provider"
    assert request_of(later) == pytest.approx(COUNTER.entries(later.entries) * factor, rel=0.01)


@pytest.mark.parametrize("factor", [0.01, 0.3, 2.6, 40])
async def test_an_outlier_corrects_nothing(factor: float) -> None:
    """A count far from the estimate belongs to something else; the next size is as before."""
    talk = Conversation(policy_of(context_window_tokens=10_000_000), S(), *turns(0, 10))
    plain = request_of(await talk.view())
    await talk.view(last_input_tokens=round(plain * factor))
    assert request_of(await talk.view()) == plain


async def test_a_correction_is_saved_without_a_pass() -> None:
    """Without any pass the next process knows what was learned; small changes write nothing."""
    provider = model_named("v", "a")
    policy = policy_of(context_window_tokens=1_000_000)
    talk = Conversation(policy, S(), *turns(0, 10), provider=provider)
    plain = request_of(await talk.view())
    await talk.view(last_input_tokens=round(plain * 1.5))
    resumed = talk.resumed(policy_of(context_window_tokens=1_000_000))
    assert request_of(await resumed.view()) == pytest.approx(plain * 1.5, rel=0.01)
    before = json.dumps(talk.state)
    for n in range(6):
        raw = COUNTER.entries(talk.transcript)
        await talk.view(*turns(20 + n, 21 + n), last_input_tokens=round(raw * (1.5 + n / 200)))
    assert json.dumps(talk.state) == before
    await talk.view(*turns(40, 41), last_input_tokens=round(COUNTER.entries(talk.transcript) * 2))
    assert json.dumps(talk.state) != before


async def test_saving_a_correction_costs_the_same_however_much_was_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The decisions are neither written out nor hashed again for it."""
    talk = Conversation(policy_of(context_window_tokens=2_000, max_entries=None), S())
    await talk.view(*turns(0, 40))
    monkeypatch.setattr(memory, "save", None)
    monkeypatch.setattr(memory.SessionMemory, "chain_value", None)
    was = dict(talk.state["compacting"])
    plain = request_of(await talk.view(U("more")))
    await talk.view(last_input_tokens=round(plain * 1.2))
    now = talk.state["compacting"]
    assert now["models"] != was.get("models")
    assert now["version"] == was["version"] + 1
    assert {k: v for k, v in now.items() if k not in {"models", "version", "revision"}} == {
        k: v for k, v in was.items() if k not in {"models", "version", "revision"}
    }


async def test_a_count_from_before_a_pass_is_never_trusted_again() -> None:
    """However often the old count is repeated, it does not make the small view large again."""
    policy = policy_of(context_window_tokens=3_000, max_entries=None)
    talk = Conversation(policy, S(), *turns(0, 10))
    await talk.view()
    first = await talk.view(*turns(10, 12), last_input_tokens=2_700)
    assert first.outcome == "compacted"
    for _ in range(4):
        again = await talk.view(last_input_tokens=2_700)
        assert again.outcome is None
        assert request_of(again) < 2_000


async def test_a_count_from_before_an_interrupted_pass_is_not_trusted_either() -> None:
    """When an interrupted pass changed the view, the count of the view before says nothing."""
    model = FakeModel(then=lambda request: Answer("## Goal", hangs=True))
    policy = policy_of(model, context_window_tokens=3_000, keep_recent_entries=20)
    talk = Conversation(policy, S(), *turns(0, 14))
    assert await cancelled_at(3, talk.view(last_input_tokens=2_950))
    assert talk.state["compacting"]["snips"]
    again = await talk.view(last_input_tokens=2_950)
    assert request_of(again) < 2_500


async def test_a_refusal_in_one_session_teaches_the_others() -> None:
    """The window that a refusal named holds for every session with that model, old and new."""
    policy = policy_of(context_window_tokens=100_000, max_entries=None)
    model, other = model_named("v", "a"), model_named("v", "b")
    refused, calibrated, fresh, elsewhere = (
        Conversation(policy, S(), *turns(0, 10), session_id=f"s{n}") for n in range(4)
    )
    for talk in (refused, calibrated):
        plain = request_of(await talk.view(provider=model))
        await talk.view(provider=model, last_input_tokens=plain + 10)
    await refused.refused(1_500, provider=model)
    for talk in (calibrated, fresh):
        result = await talk.view(provider=model)
        assert result.sizes is not None
        assert result.sizes.window == 1_500
        assert result.outcome == "compacted"
    assert (await elsewhere.view(provider=other)).outcome is None


async def test_a_learned_window_is_known_after_a_restart() -> None:
    """A new process does not need another refusal."""
    talk = Conversation(policy_of(context_window_tokens=100_000), S(), *turns(0, 10))
    await talk.view()
    await talk.refused(1_500)
    again = await talk.resumed(policy_of(context_window_tokens=100_000)).view()
    assert again.sizes is not None
    assert again.sizes.window == 1_500


async def test_a_refusal_without_a_number_teaches_that_this_was_too_much() -> None:
    """The window is then taken for smaller than the request, and a larger claim changes nothing."""
    talk = Conversation(policy_of(context_window_tokens=100_000), S(), *turns(0, 10))
    size = request_of(await talk.view())
    first = await talk.refused()
    assert first.sizes is not None
    assert first.sizes.window == size - 1
    second = await talk.refused(50_000)
    assert second.sizes is not None
    assert second.sizes.window == size - 1


# --- the numbers themselves -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimate", "reported", "ratio"),
    [(1_000, 1_500, 1.5), (1_000, 400, 0.4), (1_000, 399, None), (1_000, 2_501, None)],
)
def test_a_ratio_is_learned_within_bounds(
    estimate: int, reported: int, ratio: float | None
) -> None:
    """A ratio between 0.4 and 2.5 is one; anything else is a count of something else."""
    assert ModelFacts().observe(estimate, reported).ratio == ratio


def test_small_requests_teach_nothing() -> None:
    """Below 200 tokens, fixed framing says more than the text."""
    assert ModelFacts().observe(199, 300).ratio is None
    assert ModelFacts().observe(200, 300).ratio == 1.5


def test_a_new_count_moves_the_ratio_halfway() -> None:
    """One odd count does not overthrow what many have shown."""
    assert ModelFacts(1.0).observe(1_000, 2_000).ratio == 1.5


def test_a_request_is_as_large_as_the_larger_number_says() -> None:
    """The corrected estimate and the provider's last count are both lower bounds."""
    size = RequestSize.of(1_000, ModelFacts(1.5), 1_200, "bytes")
    assert (size.tokens, size.source, size.scale) == (1_500, "provider", 1.5)
    size = RequestSize.of(1_000, ModelFacts(1.5), 1_800, "bytes")
    assert (size.tokens, size.source, size.scale) == (1_800, "provider", 1.8)
    size = RequestSize.of(1_000, ModelFacts(), None, "bytes")
    assert (size.tokens, size.source, size.scale) == (1_000, "bytes", 1.0)


@pytest.mark.parametrize(
    ("settings", "limits"),
    [
        ({}, (None, None, None)),
        ({"configured": 1_000}, (1_000, 800, 600)),
        ({"stated": 1_000}, (1_000, 800, 600)),
        ({"configured": 2_000, "stated": 1_000}, (2_000, 1_600, 1_200)),
        ({"configured": 2_000, "learned": 1_000}, (1_000, 800, 600)),
        ({"learned": 1_000, "stated": 900}, (900, 720, 540)),
        ({"configured": 1_000, "reserve": 500}, (1_000, 400, 300)),
        ({"configured": 1_000, "reserve": 900}, (1_000, 80, 60)),
        ({"configured": 100_000, "reserve": 10_000, "learned": 8_192}, (8_192, 3_276, 2_456)),
        ({"configured": 100_000, "reserve": 2_000, "learned": 8_000}, (8_000, 4_800, 3_600)),
        ({"stated": 8_000, "reserve": 9_000}, (8_000, 3_200, 2_400)),
        ({"learned": 1, "reserve": 9_000}, (1, 0, 0)),
        ({"configured": 1_000, "trigger_tokens": 200}, (1_000, 200, 150)),
        ({"trigger_tokens": 200}, (None, 200, 150)),
    ],
)
def test_limits_come_from_all_that_is_known(
    settings: dict[str, int], limits: tuple[int | None, ...]
) -> None:
    """A setting goes before what the provider states, and what a refusal showed before both."""
    given: dict[str, Any] = {
        "configured": None,
        "stated": None,
        "learned": None,
        "reserve": 0,
        "trigger_ratio": 0.8,
        "target_ratio": 0.6,
        "trigger_tokens": None,
        **settings,
    }
    found = WindowLimits.of(**given)
    assert (found.window, found.trigger, found.target) == limits


def test_prompt_tokens_are_the_larger_of_estimate_and_last_count() -> None:
    """The helper for users answers window questions by prompt tokens, never by totals."""
    entries = turns(0, 3)
    estimate = current_prompt_tokens(entries, PolicyContext())
    assert estimate > 300
    assert current_prompt_tokens(entries, PolicyContext(last_input_tokens=10)) == estimate
    assert current_prompt_tokens(entries, PolicyContext(last_input_tokens=10_000)) == 10_000
    with_tools = PolicyContext(instructions="Be brief. " * 50, tools=[{"name": "f"}])
    assert current_prompt_tokens(entries, with_tools) > estimate + 50
