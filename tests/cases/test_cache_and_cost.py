"""Prompt caches stay warm, and a turn costs what is new in it."""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia.context import (
    CompactingContextPolicy,
    ContextPolicyResult,
    MiddleSnipStage,
    PolicyContext,
)
from lovia.context.summarizer import ExtractiveSummarizer
from lovia.tokens import as_counter
from lovia.transcript.digest import meter
from tests.cases.support import Conversation, policy_of
from tests.notation import A, C, R, S, T, U, quarter

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.transcript import TranscriptEntry

Turn = list[Any]

#: Conversations that grow by about a fiftieth of a window of 20,000 tokens with each turn.
GROWTH: dict[str, Callable[[int], Turn]] = {
    "results": lambda n: [C(f"c{n}"), T(f"c{n}", f"r{n}", tokens=380)],
    "text": lambda n: [U(f"u{n}", tokens=190), A(f"a{n}", tokens=190)],
    "small_batches": lambda n: [
        *(C(f"c{n}-{k}") for k in range(4)),
        *(T(f"c{n}-{k}", f"r{n}{k}", tokens=75) for k in range(4)),
    ],
    "everything": lambda n: [
        *(U(f"u{n}", tokens=60), R(f"hm{n}"), C(f"c{n}"), T(f"c{n}", f"r{n}", tokens=220)),
        A(f"a{n}", tokens=60),
    ],
}


def breaks(views: list[list[TranscriptEntry]]) -> int:
    """Count the views that do not begin with the whole of the view before them."""
    return sum(after[: len(before)] != before for before, after in pairwise(views))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("turn", "max_entries"),
    [*((turn, None) for turn in GROWTH.values()), (GROWTH["results"], 80), (GROWTH["text"], 80)],
    ids=[*GROWTH, "results_by_number", "text_by_number"],
)
async def test_twenty_turns_break_the_prompt_prefix_twice_at_the_most(
    turn: Callable[[int], Turn], max_entries: int | None
) -> None:
    """From whatever turn on one counts, twenty turns of steady growth break the prefix twice."""
    policy = policy_of(context_window_tokens=20_000, max_entries=max_entries)
    transcript: list[TranscriptEntry] = [S(), U("go")]
    ctx = PolicyContext()
    views = []
    for number in range(120):
        transcript += turn(number)
        views.append((await policy.apply(transcript, ctx=ctx)).entries)
    assert breaks(views) >= 2
    worst = max(breaks(views[start : start + 21]) for start in range(len(views) - 20))
    assert worst <= 2


#: Steps of a hundredth of that window each.
SMALL_STEPS: dict[str, Callable[[int], Turn]] = {
    "results": lambda n: [C(f"c{n}"), T(f"c{n}", f"r{n}", tokens=200)],
    "texts": lambda n: [R(f"hm{n}"), A(f"so {n}", tokens=100), C(f"c{n}"), T(f"c{n}", tokens=100)],
    "batches": lambda n: [
        *(C(f"c{n}-{k}") for k in range(4)),
        *(T(f"c{n}-{k}", f"r{n}{k}", tokens=50) for k in range(4)),
    ],
}


@pytest.mark.anyio
@pytest.mark.parametrize("step", SMALL_STEPS.values(), ids=SMALL_STEPS)
@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.75])
async def test_a_target_out_of_reach_does_not_break_the_prefix_each_turn(
    share: float, step: Callable[[int], Turn]
) -> None:
    """Where a message that stays is most of the target, passes still come in rare bursts."""
    policy = policy_of(context_window_tokens=20_000, max_entries=None)
    talk = Conversation(policy, S(), U("goal"), A("ok"), U("all of it", tokens=int(20_000 * share)))
    views = []
    for number in range(150):
        result = await talk.view(*step(number))
        assert result.sizes is not None
        assert result.sizes.request_after <= 20_000
        views.append(result.entries)
    assert breaks(views) >= 2
    worst = max(breaks(views[start : start + 21]) for start in range(len(views) - 20))
    assert worst <= 3


def is_rule(entry: TranscriptEntry) -> bool:
    """Tell whether a test wants the entry to stay."""
    return "RULE" in str(entry)


@pytest.mark.anyio
@pytest.mark.parametrize("messages", [1, 2])
@pytest.mark.parametrize(("rules", "keep"), [(30, 40), (40, 40), (60, 10), (66, 10), (72, 10)])
async def test_entries_that_stay_do_not_let_each_turn_break_the_prefix(
    rules: int, keep: int, messages: int
) -> None:
    """Where entries that stay are most of their limit, passes still come in bursts."""
    policy = policy_of(max_entries=80, keep_recent_entries=keep, pinned=is_rule)
    talk = Conversation(policy, S(), *(U(f"RULE {n}") for n in range(rules)))
    turn: list[TranscriptEntry] = [U("q"), A("a")]
    views = [(await talk.view(*turn * messages)).entries for _ in range(100)]
    assert breaks(views) >= 2
    assert max(map(len, views)) < 120
    worst = max(breaks(views[start : start + 21]) for start in range(len(views) - 20))
    assert worst <= 3 * messages


@pytest.mark.anyio
@pytest.mark.parametrize("target", [0.3, 0.6, 0.79])
async def test_a_pass_goes_down_to_the_target_at_once(target: float) -> None:
    """A pass over the trigger does not take off just enough for this turn."""
    policy = policy_of(context_window_tokens=20_000, max_entries=None, target_ratio=target)
    talk = Conversation(policy, S(), U("go"))
    seen = []
    for number in range(150):
        result = await talk.view(*GROWTH["results"](number))
        if result.outcome is not None:
            assert result.sizes is not None
            seen.append(result.sizes.request_after)
    assert seen
    assert all(size <= 20_000 * target for size in seen)


class Measured:
    """A counter of tokens that counts how often it has to measure a text."""

    def __init__(self) -> None:
        self.texts = 0
        self.counter = as_counter(self._measure, over="text")

    def _measure(self, text: str) -> int:
        self.texts += 1
        return quarter(text)


@pytest.mark.anyio
async def test_no_text_of_the_history_is_measured_or_hashed_again() -> None:
    """Over 2,000 entries each turn measures and hashes what it added, and nothing else."""
    measured = Measured()
    policy = policy_of(
        context_window_tokens=20_000,
        summarizer=ExtractiveSummarizer(),
        token_counter=measured.counter,
    )
    transcript: list[TranscriptEntry] = [S(), U("go")]
    ctx = PolicyContext(session_id="s")
    await policy.apply(transcript, ctx=ctx)
    hashed, most_texts = meter.entries, 0
    for number in range(1_000):
        transcript += GROWTH["results"](number)
        texts = measured.texts
        result = await policy.apply(transcript, ctx=ctx)
        if result.outcome is None:
            most_texts = max(most_texts, measured.texts - texts)
    assert len(transcript) > 2_000
    assert most_texts <= 6  # ids, name, arguments and output of one call and its result
    assert 0 < meter.entries - hashed <= len(transcript)


def calls_of(work: Callable[[], Any]) -> int:
    """Count the Python functions and built-ins that are called."""
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


async def calls_of_a_turn(entries: int, *, compacted: bool) -> int:
    """Return what one more turn takes when so many entries were said before."""
    stages = None if compacted else [MiddleSnipStage(max_entries=None)]
    policy = CompactingContextPolicy(
        max_entries=80 if compacted else None,
        stages=stages,
        summarizer=ExtractiveSummarizer(),
        token_counter=as_counter(quarter, over="text"),
    )
    transcript: list[TranscriptEntry] = [S(), U("go")]
    ctx = PolicyContext(session_id="s")
    while len(transcript) < entries:
        transcript += GROWTH["results"](len(transcript))
        if len(transcript) % 500 == 0:
            await policy.apply(transcript, ctx=ctx)
    await policy.apply(transcript, ctx=ctx)
    transcript += GROWTH["results"](len(transcript))
    turn = policy.apply(transcript, ctx=ctx)

    results: list[ContextPolicyResult] = []

    def to_the_end() -> None:
        try:
            while True:
                turn.send(None)
        except StopIteration as end:
            results.append(end.value)

    calls = calls_of(to_the_end)
    assert results[0].outcome is None
    return calls


@pytest.mark.parametrize("compacted", [False, True])
def test_a_turn_takes_as_many_steps_after_20000_entries_as_after_300(compacted: bool) -> None:
    """What a turn without a pass does in Python does not depend on the length of the history."""
    steps = [
        anyio.run(partial(calls_of_a_turn, entries, compacted=compacted))
        for entries in (300, 20_000)
    ]
    assert steps[1] <= steps[0] * 1.2


def test_counting_a_long_history_again_measures_nothing() -> None:
    """Five scans of 8,000 entries and of 8,200 measure each text once."""
    for length in (8_000, 8_200):
        measured = Measured()
        entries = [U(f"message {number}") for number in range(length)]
        for _ in range(5):
            measured.counter.entries(entries)
        assert measured.texts == length
