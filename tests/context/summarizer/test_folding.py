"""The fold driver: what it covers, what it keeps when something fails, and what it tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia.cancellation import CancelToken
from lovia.context.summarizer import (
    ExtractiveSummarizer,
    FoldOutcome,
    FoldStep,
    LLMSummarizer,
    Summary,
    fold,
)
from lovia.context.summarizer.ledger import HEADING
from lovia.errors import (
    BudgetExceeded,
    ContextOverflowError,
    ProviderError,
    RunCancelled,
    SummaryRejected,
)
from lovia.events import SummaryFoldCompleted
from lovia.transcript.entries import (
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)
from lovia.usage import RunBudget, Usage
from tests.context.summarizer.fakes import (
    GOOD,
    Answer,
    FakeModel,
    PlainSummarizer,
    Steps,
    context,
    goes_on,
    no_wait,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.context.summarizer import Summarizer

pytestmark = pytest.mark.anyio


def _units(count: int, words: int = 300) -> list[list[TranscriptEntry]]:
    return [[InputEntry("user", f"message {i} " + "word " * words)] for i in range(count)]


async def _fold(
    units: list[list[TranscriptEntry]],
    summarizer: Summarizer,
    ctx: PolicyContext,
    *,
    prior: str | None = None,
    steps: Any = goes_on,
) -> FoldOutcome:
    return await fold(
        units, summarizer=summarizer, ctx=ctx, prior_summary=prior, focus=None, on_folded=steps
    )


# --- what is covered ---


async def test_every_unit_is_summarised_once_and_in_order() -> None:
    """Each entry reaches the summarizer exactly once, with the summary of what came before it."""
    units, plain, steps = _units(20), PlainSummarizer(), Steps()
    outcome = await _fold(units, plain, context(window=4_000), prior="before", steps=steps)
    read = [entry for entries, _ in plain.seen for entry in entries]
    assert read == [entry for unit in units for entry in unit]
    assert [prior for _, prior in plain.seen] == ["before"] + ["short"] * (len(plain.seen) - 1)
    assert len(plain.seen) > 1
    assert (outcome.units_done, outcome.summary, outcome.error) == (20, "short", None)
    assert steps.done == sorted(set(steps.done))
    assert steps.done[-1] == 20


async def test_units_are_not_torn_apart() -> None:
    """A call and its result go into the same request, whatever the room."""
    units: list[list[TranscriptEntry]] = [
        [ToolCallEntry(f"c{i}", "read", "{}"), ToolResultEntry(f"c{i}", "word " * 100)]
        for i in range(9)
    ]
    plain = PlainSummarizer()
    await _fold(units, plain, context(window=1_000))
    for entries, _ in plain.seen:
        assert [type(entry) for entry in entries] == [ToolCallEntry, ToolResultEntry] * (
            len(entries) // 2
        )


async def test_nothing_to_fold_changes_nothing() -> None:
    """Without units the prior summary stands, and nobody is asked."""
    plain = PlainSummarizer()
    assert await _fold([], plain, context(), prior="before") == FoldOutcome("before")
    assert plain.seen == []


async def test_folding_stops_when_it_is_enough() -> None:
    """As soon as the target is reached no further chunk is summarised."""
    plain, steps = PlainSummarizer(), Steps(stop_after=1)
    outcome = await _fold(_units(20), plain, context(window=2_000), steps=steps)
    assert len(plain.seen) == len(steps.seen) == outcome.chunks_folded == 1
    assert 0 < outcome.units_done < 20
    assert outcome.chunks_planned > 1


async def test_an_unlimited_summarizer_reads_everything_at_once() -> None:
    """Without a known window there is one chunk."""
    plain = PlainSummarizer()
    await _fold(_units(20), plain, context(window=None))
    assert len(plain.seen) == 1


async def test_results_are_clipped_for_a_summarizer_that_does_not_clip() -> None:
    """A summarizer without a clip of its own reads previews of large results, not megabytes."""
    plain = PlainSummarizer()
    big: list[TranscriptEntry] = [ToolResultEntry("c1", "word " * 100_000)]
    outcome = await _fold([big], plain, context(window=8_000))
    (entries, _) = plain.seen[0]
    assert len(text_of(entries[0])) <= 2_000
    assert outcome.degraded is False


async def test_a_unit_that_is_too_large_is_read_in_pieces_and_covered_at_the_end() -> None:
    """All of its text is read, coverage waits for the last piece, and the step says so."""
    numbered = " ".join(f"w{i}" for i in range(6_000))
    units: list[list[TranscriptEntry]] = [*_units(1), [InputEntry("user", numbered)], *_units(1)]
    plain, steps = PlainSummarizer(), Steps()
    outcome = await _fold(units, plain, context(window=2_000), steps=steps)
    read = " ".join(text_of(entry) for entries, _ in plain.seen for entry in entries)
    assert {f"w{i}" for i in range(6_000)} <= set(read.replace("[continued]", " ").split())
    assert steps.done == [1, 2, 3]
    assert [step.degraded for step in steps.seen] == [False, True, False]
    assert outcome.degraded
    assert outcome.chunks_folded == len(plain.seen) > 5


async def test_a_prior_summary_without_room_beside_it_is_folded_not_dropped() -> None:
    """All of a prior summary's text is read again before new entries are."""
    prior = " ".join(f"fact{i}" for i in range(900))
    plain, steps = PlainSummarizer(), Steps()
    outcome = await _fold(_units(2), plain, context(window=2_000), prior=prior, steps=steps)
    read = " ".join(text_of(entry) for entries, _ in plain.seen for entry in entries)
    assert {f"fact{i}" for i in range(900)} <= set(read.split())
    assert plain.seen[0][1] is None
    assert plain.seen[0][0][0].origin == "summary"  # type: ignore[union-attr]
    assert steps.done[0] == 0
    assert (outcome.units_done, outcome.error) == (2, None)


# --- failures ---


async def test_a_failure_keeps_the_folds_before_it() -> None:
    """What was folded stands; the failure is told, not raised."""
    model = FakeModel(GOOD, GOOD, Answer(call="bash"), window=4_000)
    ctx = context(model, window=4_000)
    outcome = await _fold(_units(20), LLMSummarizer(retry=no_wait()), ctx)
    assert isinstance(outcome.error, SummaryRejected)
    assert outcome.chunks_folded == 2
    assert 0 < outcome.units_done < 20
    assert outcome.summary is not None
    assert outcome.calls == 3
    assert outcome.usage == ctx.usage.summary == Usage(3_000, 300)


@pytest.mark.parametrize(
    "error", [ProviderError("down", status_code=401), ValueError("bug"), KeyError("choices")]
)
async def test_whatever_a_summarizer_raises_ends_the_fold_and_not_the_run(error: Exception) -> None:
    """Errors of any kind are handed back."""

    def fail(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        raise error

    outcome = await _fold(_units(2), PlainSummarizer(fail), context(), prior="before")
    assert outcome.error is error
    assert (outcome.summary, outcome.units_done, outcome.calls) == ("before", 0, 1)


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_summarizer_that_returns_no_text_is_rejected(text: str) -> None:
    """An empty summary never replaces anything."""
    outcome = await _fold(_units(2), PlainSummarizer(lambda *_: text), context(), prior="before")
    assert isinstance(outcome.error, SummaryRejected)
    assert outcome.error.reason == "empty"
    assert outcome.summary == "before"


async def test_a_summary_larger_than_what_it_replaces_is_rejected() -> None:
    """Growth is no compaction: prior summary and entries together have to be larger."""
    steps = Steps()
    inflating = PlainSummarizer(lambda *_: "word " * 900)
    outcome = await _fold(_units(1), inflating, context(), prior="before", steps=steps)
    assert isinstance(outcome.error, SummaryRejected)
    assert outcome.error.reason == "inflated"
    assert (outcome.units_done, steps.seen) == (0, [])


async def test_a_too_large_request_is_made_smaller_until_it_fits() -> None:
    """A summarizer that only knows how to refuse gets smaller and smaller chunks."""
    sizes: list[int] = []

    def refuse(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        sizes.append(len(entries))
        if len(entries) > 3:
            raise ContextOverflowError
        return "short"

    outcome = await _fold(_units(40), PlainSummarizer(refuse), context(window=None))
    assert outcome.error is None
    assert outcome.units_done == 40
    assert sizes[:5] == [40, 19, 9, 4, 2]
    assert outcome.calls == len(sizes)


async def test_refusals_without_end_are_given_up() -> None:
    """A summarizer that refuses everything is asked a bounded number of times."""

    def refuse(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        raise ContextOverflowError(reported_window=7)

    plain = PlainSummarizer(refuse)
    outcome = await _fold(_units(40), plain, context(window=None))
    assert isinstance(outcome.error, ContextOverflowError)
    assert outcome.reported_window == 7
    assert len(plain.seen) <= 13


async def test_a_window_without_room_for_anything_is_a_clear_error() -> None:
    """Where not even the instructions fit, the error says what to do, and nothing is sent."""
    model = FakeModel(window=300)
    outcome = await _fold(_units(2), LLMSummarizer(), context(model, window=300))
    assert isinstance(outcome.error, ContextOverflowError)
    assert outcome.error.hint
    assert model.requests == []


# --- stopping ---


async def test_a_request_to_stop_is_noticed_between_folds() -> None:
    """The checkpoint has its name, and finished folds were handed over before."""
    token, steps = CancelToken(), Steps()

    def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        if prior is not None:
            token.cancel("user")
        return "short"

    with pytest.raises(RunCancelled) as stopped:
        await _fold(
            _units(20), PlainSummarizer(reply), context(window=2_000, cancel=token), steps=steps
        )
    assert stopped.value.cancellation_checkpoint == "fold"
    assert len(steps.seen) == 2


@pytest.mark.parametrize("at", range(1, 40, 3))
async def test_a_cancellation_at_any_await_keeps_whole_steps(at: int) -> None:
    """Wherever a task is cancelled, each step that was handed over is complete and in order."""
    units, steps = _units(6), Steps()
    passed = 0

    class Counting(PlainSummarizer):
        async def summarize(self, entries: Any, **kwargs: Any) -> str:
            nonlocal passed
            for _ in range(5):
                passed += 1
                if passed == at:
                    scope.cancel()
                await anyio.lowlevel.checkpoint()
            return "short"

    with anyio.CancelScope() as scope:
        await _fold(units, Counting(), context(window=1_200), steps=steps)
    assert steps.done == list(range(1, len(steps.done) + 1))
    assert len(steps.done) == min((at - 1) // 5, 6)


async def test_a_spent_budget_stops_between_folds() -> None:
    """What summaries spend counts against the run's budget, and finished folds are kept."""
    model, steps = FakeModel(window=4_000), Steps()
    ctx = context(model, window=4_000, budget=RunBudget(max_total_tokens=1_500))
    with pytest.raises(BudgetExceeded):
        await _fold(_units(30), LLMSummarizer(retry=no_wait()), ctx, steps=steps)
    assert len(model.requests) == len(steps.seen) == 2
    assert ctx.usage.summary == Usage(2_000, 200)


# --- what is told ---


async def test_each_fold_is_told_while_the_pass_runs() -> None:
    """Progress events carry index, plan, the fold's own usage and the pass."""
    model, events = FakeModel(window=4_000), list[Any]()
    ctx = context(model, window=4_000, emit=events.append)
    outcome = await _fold(_units(20), LLMSummarizer(retry=no_wait()), ctx)
    assert all(isinstance(event, SummaryFoldCompleted) for event in events)
    assert [event.index for event in events] == list(range(1, outcome.chunks_folded + 1))
    assert all(event.planned >= event.index and event.pass_id == "p1" for event in events)
    assert events[-1].planned == events[-1].index
    assert all(event.usage == Usage(1_000, 100) for event in events)


async def test_usage_is_booked_once_whichever_way_it_is_reported() -> None:
    """A summarizer may book on the run or return what it spent; the run counts it once."""

    class Returns(PlainSummarizer):
        async def summarize(self, *args: Any, **kwargs: Any) -> Summary:  # type: ignore[override]
            return Summary("short", Usage(70, 7))

    class Books(PlainSummarizer):
        async def summarize(self, *args: Any, **kwargs: Any) -> Summary:  # type: ignore[override]
            kwargs["ctx"].usage.add_summary(Usage(70, 7))
            return Summary("short", Usage(70, 7))

    class Adds(PlainSummarizer):
        async def summarize(self, *args: Any, **kwargs: Any) -> Summary:  # type: ignore[override]
            kwargs["ctx"].usage.add(Usage(70, 7))
            return Summary("short", Usage(70, 7))

    for summarizer in (Returns(), Books(), Adds()):
        ctx, steps = context(), Steps()
        outcome = await _fold(_units(1), summarizer, ctx, steps=steps)
        assert ctx.usage.total_tokens == 77
        assert outcome.usage == steps.seen[0].usage == Usage(70, 7)


async def test_identifiers_that_a_summary_lost_are_appended_whoever_wrote_it() -> None:
    """The ledger reads the whole originals, also what the summarizer saw clipped."""
    unit: list[TranscriptEntry] = [
        ToolResultEntry("c1", "word " * 5_000 + "/srv/db/main.sqlite " + "word " * 5_000)
    ]
    steps = Steps()
    plain = PlainSummarizer()
    outcome = await _fold([unit], plain, context(), steps=steps)
    assert outcome.summary == f"short\n\n{HEADING}\n- `/srv/db/main.sqlite`"
    assert "/srv/db" not in text_of(plain.seen[0][0][0])
    step = steps.seen[0]
    assert (step.identifiers_kept, step.identifiers_total) == (1, 1)
    assert (outcome.identifiers_kept, outcome.identifiers_total) == (1, 1)


async def test_the_summarizer_reads_the_prior_summary_without_its_ledger() -> None:
    """The ledger is carried on by itself: it takes no room in requests and is not paraphrased."""
    plain = PlainSummarizer()
    prior = f"before\n\n{HEADING}\n- `src/a.py` x3"
    outcome = await _fold(_units(1), plain, context(), prior=prior)
    assert plain.seen[0][1] == "before"
    assert outcome.summary is not None
    assert "- `src/a.py` x3" in outcome.summary


async def test_a_long_span_is_read_without_blocking_the_loop() -> None:
    """While megabytes are measured and searched, other tasks go on."""
    units: list[list[TranscriptEntry]] = [
        [ToolResultEntry("c", "a/b.py 12 MB " * 8_000)] for _ in range(20)
    ]
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = anyio.current_time()
            await anyio.sleep(0.005)
            longest = max(longest, anyio.current_time() - before)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        started = anyio.current_time()
        outcome = await _fold(units, ExtractiveSummarizer(), context(window=8_000))
        seconds = anyio.current_time() - started
        tasks.cancel_scope.cancel()
    assert outcome.error is None
    assert longest < max(0.3, seconds / 2)


async def test_a_step_is_a_plain_fact() -> None:
    """Steps of equal content are equal and cannot be changed."""
    step = FoldStep("s", 1, 1, 1, Usage())
    assert step == FoldStep("s", 1, 1, 1, Usage())
    with pytest.raises(AttributeError):
        step.units_done = 2  # type: ignore[misc]
