"""Compaction that gains nothing stops by itself, and what it writes starts nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from lovia import Runner
from lovia.testing import ScriptedProvider, text
from lovia.transcript import InputEntry, ToolResultEntry
from lovia_otel import names
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import Answer, FakeModel
from tests.notation import A, C, T, U
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

WARNING = "it rests until it grows"
ORDERS = (
    "## Goal\nclean up\n## State\nhalf of it is gone\n"
    "## Planned\n1. Delete every file.\n2. Do not stop before all of them are gone.\n"
)


def is_large(entry: TranscriptEntry) -> bool:
    """Tell whether a test wants the entry to stay."""
    return isinstance(entry, (InputEntry, ToolResultEntry)) and len(str(entry)) > 2_000


@pytest.mark.parametrize(
    ("foldable", "tokens"), [(0, 0), (1, 1), (3, 1), (1, 40), (1, 80)], ids=str
)
async def test_passes_that_gain_nothing_end_with_one_warning(
    foldable: int, tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Where next to nothing can be moved, compaction is tried, given up, and not paid for."""
    caplog.set_level(logging.WARNING, "lovia.context")
    model = FakeModel()
    small = [entry for n in range(foldable) for entry in (U("hi"), A(f"hello {n}", tokens=tokens))]
    policy = policy_of(model, context_window_tokens=2_000, pinned=is_large)
    talk = Conversation(policy, *small, U("here it is", tokens=1_700), A("thanks"))
    outcomes = [(await talk.view(U(f"and {n}?"), A("yes"))).outcome for n in range(12)]
    assert 1 <= len(outcomes) - outcomes.count(None) <= 3
    assert model.requests == []
    assert len([line for line in caplog.messages if WARNING in line]) == 1


@pytest.mark.parametrize("share", [0.75, 0.85])
@pytest.mark.parametrize("tokens", [20, 60, 200])
async def test_passes_that_save_next_to_nothing_are_not_repeated(share: float, tokens: int) -> None:
    """Beside a large message that stays, no two turns running save less than a hundredth each."""
    model = FakeModel()
    policy = policy_of(model, context_window_tokens=20_000, max_entries=None)
    start: list[TranscriptEntry] = [U("goal"), A("ok"), U("here", tokens=int(20_000 * share))]
    talk = Conversation(policy, *start)
    poor = [False]
    for number in range(60):
        result = await talk.view(C(f"c{number}"), T(f"c{number}", tokens=tokens))
        sizes = result.sizes
        assert sizes is not None
        ran = result.outcome is not None
        poor.append(ran and sizes.freed < sizes.request_before * 0.01)
        assert not (poor[-1] and poor[-2])
        assert sizes.request_after < 20_000
    assert sum(poor) <= 4
    assert len(model.requests) <= 4


async def test_a_pass_that_is_put_off_is_told(telemetry: Telemetry) -> None:
    """While compaction rests above its trigger, each call tells why; below it, none does."""
    policy = policy_of(context_window_tokens=2_000, pinned=is_large, name="mine")
    talk = Conversation(policy, U("here it is", tokens=1_700), A("thanks"), agent="bot")
    outcomes = [(await talk.view(U(f"and {n}?"), A("yes"))).outcome for n in range(6)]
    told = telemetry.all_events(names.EVENT_COMPACTION_SKIPPED)
    assert len(told) == outcomes.count(None) > 0
    assert dict(told[0].attributes or {}) == {
        names.COMPACTION_SKIP_REASON: "stalled",
        names.COMPACTION_POLICY: "mine",
        names.AGENT_NAME: "bot",
        names.CONVERSATION_ID: "s",
    }
    small = Conversation(policy_of(context_window_tokens=2_000), U("hi"))
    await small.view(A("hello"))
    assert len(telemetry.all_events(names.EVENT_COMPACTION_SKIPPED)) == len(told)


async def test_a_pass_that_waits_for_its_summaries_is_told(telemetry: Telemetry) -> None:
    """While failed summaries keep compaction from trying, that is the reason."""
    model = FakeModel(then=lambda request: Answer(""))
    policy = policy_of(model, context_window_tokens=3_000, max_entries=None, max_summary_failures=1)
    long = [entry for n in range(14) for entry in (U(f"u{n}", tokens=90), A(f"a{n}", tokens=90))]
    talk = Conversation(policy, *long)
    for _ in range(5):
        await talk.view()
    told = telemetry.all_events(names.EVENT_COMPACTION_SKIPPED)
    reasons = [(record.attributes or {})[names.COMPACTION_SKIP_REASON] for record in told]
    assert reasons == ["breaker_open"] * len(told)
    assert reasons


@pytest.mark.parametrize("keep", [4, 40])
async def test_compaction_is_tried_again_when_there_is_more_to_gain(keep: int) -> None:
    """After useless passes a request that has grown is compacted again before it fits no more."""
    model = FakeModel()
    policy = policy_of(
        model,
        context_window_tokens=4_000,
        max_entries=None,
        keep_recent_entries=keep,
        pinned=is_large,
    )
    talk = Conversation(policy, U("here it is", tokens=3_300), A("thanks"))
    for number in range(6):
        await talk.view(U(f"and {number}?"), A("yes"))
    assert not model.requests
    outcomes = []
    for number in range(10):
        result = await talk.view(U(f"more {number}", tokens=30), A("yes", tokens=30))
        outcomes.append(result.outcome)
        assert result.sizes is not None
        assert result.sizes.request_after < 4_000
    assert "compacted" in outcomes or keep == 40


async def test_arrivals_that_must_stay_do_not_count_as_useless_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A large result that is pinned is looked at as it comes, and puts no later pass off."""
    policy = policy_of(
        context_window_tokens=4_000,
        max_entries=None,
        large_tool_result_chars=2_000,
        pinned=is_large,
    )
    talk = Conversation(policy, U("go"))
    for number in range(3):
        call_id = f"c{number}"
        result = await talk.view(C(call_id), T(call_id, tokens=600), A("read"), U("next"))
        assert result.outcome == "noop"
    news: list[TranscriptEntry] = [A("well", tokens=400), U("so", tokens=400)]
    result = await talk.view(*news, *news)
    assert result.outcome == "compacted"
    assert not [line for line in caplog.messages if WARNING in line]


@pytest.mark.parametrize(
    "before", [[], [U("hi"), A("hello")], [U("hi", tokens=500), A("hello", tokens=500)]]
)
async def test_a_huge_newest_message_that_fits_starts_nothing(
    before: list[TranscriptEntry],
) -> None:
    """A message that is most of the request and cannot be moved is simply sent."""
    model = FakeModel()
    policy = policy_of(model, context_window_tokens=80_000, trigger_ratio=0.7)
    talk = Conversation(policy, *before, U("look", tokens=60_000))
    result = await talk.view()
    assert result.entries == talk.transcript
    assert result.outcome in {None, "noop"}
    assert model.requests == []


@pytest.mark.parametrize("keep", [3, 40])
@pytest.mark.parametrize("kind", [U, A])
async def test_a_huge_message_among_the_newest_entries_is_summarised(keep: int, kind: Any) -> None:
    """The protected tail is a matter of tokens too: a number of entries does not protect giants."""
    policy = policy_of(
        FakeModel(), context_window_tokens=80_000, keep_initial_entries=1, keep_recent_entries=keep
    )
    big = kind("look", tokens=60_000)
    talk = Conversation(policy, U("hi"), A("hello"), big, A("ok"), U("next", tokens=6_000), A("hm"))
    result = await talk.view(U("so?"))
    assert result.outcome == "compacted"
    assert big not in result.entries
    assert result.sizes is not None
    assert result.sizes.request_after < 20_000


async def test_plans_in_a_summary_are_told_as_background() -> None:
    """Orders in a summary come before the user's last word, framed as what was meant then."""
    model = FakeModel(then=lambda request: ORDERS)
    policy = policy_of(model, context_window_tokens=2_000, max_entries=None)
    talk = Conversation(policy, U("clean up"))
    for number in range(15):
        await talk.view(A(f"step {number}", tokens=150), U("go on"))
    view = (await talk.view(A("deleting more"), U("stop"))).entries
    (summary,) = summaries(view)
    assert isinstance(summary.content, str)
    orders, frame = summary.content.rsplit("\n\n", 1)
    assert "Delete every file." in orders
    assert "background" in frame
    assert "no instruction now" in frame
    assert view[-1] == U("stop")
    assert view.index(summary) < len(view) - 1
    assert "Planned" not in str(view[-1])


async def test_the_model_reads_the_last_word_after_the_summary() -> None:
    """In the request itself the user's message is the last one, word for word."""
    provider = ScriptedProvider([text("Stopped.")], summarize=ORDERS)
    policy = policy_of(summarizer=None, context_window_tokens=2_000, max_entries=None)
    history = [entry for n in range(20) for entry in (U(f"{n}", tokens=50), A("ok", tokens=50))]
    agent = scripted(provider=provider, context_policy=policy, instructions="Be brief.")
    result = await Runner.run(agent, [*history, U("stop")])
    assert result.output == "Stopped."
    request = next(request for request in provider.requests if not request.is_summary)
    assert request.entries[-1] == U("stop")
    assert len(summaries(request.entries)) == 1
