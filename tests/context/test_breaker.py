"""The circuit breaker around the summarizer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lovia.context.stages.auto_summary import AutoSummaryStage
from lovia.context.summarizer.breaker import Breaker
from lovia.errors import ContextOverflowError, ProviderError, SummaryRejected
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import SPENT, Answer, FakeModel, PlainSummarizer
from tests.notation import A, S, U

COOLDOWN = 60.0


def opened(failures: int = 3, *, limit: int = 3, at: float = 1_000.0) -> Breaker:
    """Return a breaker after so many failures."""
    breaker = Breaker()
    for _ in range(failures):
        breaker = breaker.failed(limit, at)
    return breaker


@pytest.mark.parametrize(("failures", "state"), [(0, "closed"), (2, "closed"), (3, "open")])
def test_it_opens_at_its_limit(failures: int, state: str) -> None:
    """Below the limit failures are only counted."""
    breaker = opened(failures)
    assert breaker.failures == failures
    assert breaker.state(COOLDOWN, 1_001.0) == state


@pytest.mark.parametrize(
    ("later", "state"), [(0, "open"), (59.9, "open"), (60, "half_open"), (1e9, "half_open")]
)
def test_it_half_opens_after_its_cool_down(later: float, state: str) -> None:
    """One attempt is let through when the time is over."""
    assert opened().state(COOLDOWN, 1_000.0 + later) == state


def test_a_clock_that_was_set_back_does_not_keep_it_open() -> None:
    """Wall-clock time may go backwards; a breaker from the future half-opens at once."""
    assert opened().state(COOLDOWN, 10.0) == "half_open"


def test_a_failed_attempt_opens_it_again_and_a_good_one_closes_it() -> None:
    """After the cool-down one attempt decides; success forgets all failures."""
    again = opened().failed(3, 2_000.0)
    assert again.state(COOLDOWN, 2_059.0) == "open"
    assert again.failures == 4
    assert again.succeeded() == Breaker()


@pytest.mark.parametrize("breaker", [Breaker(), Breaker(2), opened(), opened(7)])
def test_it_is_saved_and_loaded(breaker: Breaker) -> None:
    """JSON gives back the breaker; one without failures takes no room."""
    assert Breaker.from_json(json.loads(json.dumps(breaker.to_json()))) == breaker
    assert bool(breaker.to_json()) == bool(breaker.failures)


@pytest.mark.parametrize(
    "data",
    [
        *({"failures": "2"}, {"failures": -1}, {"failures": 1.5}, {"failures": True}),
        *({"failures": 1, "opened_at": "now"}, {"failures": 1, "opened_at": float("inf")}),
    ],
)
def test_a_damaged_one_is_refused(data: dict[str, Any]) -> None:
    """What is no count and no time raises one kind of error."""
    with pytest.raises(ValueError, match="expected"):
        Breaker.from_json(data)


# --- in a policy ----------------------------------------------------------------------------


def history(turns: int = 14) -> list[Any]:
    """Return a conversation over the trigger of a window of 3,000 tokens."""
    return [
        S(),
        *(e for n in range(turns) for e in (U(f"u{n}", tokens=90), A(f"a{n}", tokens=90))),
    ]


@pytest.mark.anyio
async def test_its_state_is_visible_in_every_result() -> None:
    """Passes and plain turns say how the breaker stands."""
    model = FakeModel(then=lambda request: Answer(""))
    policy = policy_of(model, context_window_tokens=3_000, max_entries=None, max_summary_failures=2)
    talk = Conversation(policy, S(), U("go"))
    assert (await talk.view()).metadata["breaker"] == "closed"
    states = [(await talk.view(*history()[1:])).metadata["breaker"]]
    states += [(await talk.view()).metadata["breaker"] for _ in range(4)]
    assert states == ["closed", "open", "open", "open", "open"]


#: What goes wrong at first, and how often the model is asked until there is a summary.
OVERCOME: dict[str, tuple[list[Answer], int]] = {
    "rate_limit": ([Answer("", error=ProviderError("slow down", status_code=429))], 2),
    "overloaded_twice": ([Answer("", error=ProviderError("busy", status_code=529))] * 2, 3),
    "connection": ([Answer("## Go", error=ConnectionError())], 2),
    "too_large": ([Answer("", usage=None, error=ContextOverflowError())], 4),  # in smaller pieces
    "cut_off": ([Answer("## Goal", finish="length")], 2),
    "empty": ([Answer("")], 2),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("answers", "asked"), OVERCOME.values(), ids=OVERCOME)
async def test_what_is_overcome_within_the_pass_is_no_failure(
    answers: list[Answer], asked: int
) -> None:
    """A pass that has its summary in the end counts no failure, and has paid for each attempt."""
    model = FakeModel(*answers)
    policy = policy_of(model, context_window_tokens=3_000, max_entries=None, max_summary_failures=1)
    talk = Conversation(policy, *history())
    result = await talk.view()
    assert result.outcome == "compacted"
    assert result.metadata["breaker"] == "closed"
    assert len(model.requests) == asked
    paid = [1 for answer in answers if answer.usage is not None]
    good = asked - len(answers)
    assert talk.usage.summary.input_tokens == (len(paid) + good) * SPENT.input_tokens


@pytest.mark.anyio
async def test_an_open_breaker_says_why_there_is_no_summary() -> None:
    """The stage's note tells it from a stage that had nothing to do."""
    model = FakeModel(then=lambda request: Answer(""))
    policy = policy_of(model, context_window_tokens=3_000, max_entries=None, max_summary_failures=1)
    talk = Conversation(policy, *history())
    await talk.view()
    again = await talk.view(*history(2)[1:])
    (record,) = [r for r in again.stages if r.name == AutoSummaryStage.name]
    assert record.outcome == "noop"
    assert record.note is not None
    assert "rest" in record.note


@pytest.mark.anyio
async def test_a_compaction_by_hand_is_tried_all_the_same() -> None:
    """Who asks for a summary gets the attempt; its success closes the breaker."""
    model = FakeModel(Answer(""), Answer(""))
    policy = policy_of(model, context_window_tokens=3_000, max_entries=None, max_summary_failures=1)
    talk = Conversation(policy, *history())
    assert (await talk.view()).metadata["breaker"] == "open"
    result = await talk.compacted()
    assert result.metadata["breaker"] == "closed"
    assert summaries(result.entries)


@pytest.mark.anyio
async def test_success_in_between_starts_the_count_anew() -> None:
    """Only failures in a row open it."""
    calls = 0

    def moody(entries: Any, prior: Any) -> str:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise SummaryRejected("not today", reason="refusal")
        return f"short {calls}"

    policy = policy_of(
        summarizer=PlainSummarizer(moody),
        context_window_tokens=3_000,
        max_entries=None,
        max_summary_failures=2,
    )
    talk = Conversation(policy, *history())
    states = set()
    for _ in range(6):
        states.add((await talk.view()).metadata["breaker"])
        await talk.view(*history(4)[1:])
    assert calls >= 4
    assert states == {"closed"}
