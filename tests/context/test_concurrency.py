"""What is told while a pass runs, and who waits for whom."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from lovia import events
from lovia.context import CompactingContextPolicy, PolicyContext
from lovia.context.pipeline.memory import Flights
from tests.cases.support import policy_of, summaries
from tests.context.summarizer.fakes import SPENT, Answer, FakeModel
from tests.notation import A, S, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {"context_window_tokens": 3_000, "max_entries": None}


def history(turns: int = 24) -> list[TranscriptEntry]:
    """Return a conversation that takes several folds in a window of 1,400 tokens."""
    said: list[TranscriptEntry] = [S()]
    for n in range(turns):
        said += [U(f"u{n}", tokens=90), A(f"a{n}", tokens=90)]
    return [*said, U("newest")]


class Listener:
    """Hears the live events of a pass, and what was spent when it did."""

    def __init__(self) -> None:
        self.heard: list[events.Event] = []
        self.spent: list[int] = []
        self.ctx = PolicyContext(session_id="s", emit=self)

    def __call__(self, event: events.Event) -> None:
        """Take in an event."""
        self.heard.append(event)
        self.spent.append(self.ctx.usage.summary.input_tokens)


async def test_a_pass_tells_its_progress_in_order() -> None:
    """It starts, each fold is told with its number and cost when it is done, and it ends."""
    listener = Listener()
    policy = policy_of(FakeModel(window=1_400), **SETTINGS)
    result = await policy.apply(history(), ctx=listener.ctx)
    started, *folds, ended = listener.heard
    assert isinstance(started, events.CompactionStarted)
    assert started.trigger == "threshold"
    assert started.session_id == "s"
    assert result.sizes is not None
    assert started.tokens_before == result.sizes.request_before
    assert isinstance(ended, events.CompactionEnded)
    assert ended.outcome == "compacted"
    assert ended.tokens_after == result.sizes.request_after
    told = [fold for fold in folds if isinstance(fold, events.SummaryFoldCompleted)]
    assert len(told) == len(folds) >= 2
    assert [fold.index for fold in told] == list(range(1, len(told) + 1))
    assert told[-1].planned == len(told)
    assert all(fold.planned >= fold.index for fold in told)
    assert [fold.usage.input_tokens for fold in told] == [SPENT.input_tokens] * len(told)
    assert listener.spent[1:-1] == [SPENT.input_tokens * (n + 1) for n in range(len(told))]
    ids = [started.pass_id, *(fold.pass_id for fold in told), ended.pass_id]
    assert set(ids) == {result.metadata["pass_id"]}


async def test_a_listener_that_fails_changes_nothing() -> None:
    """Whatever `emit` raises, the pass goes on to its end."""

    def broken(event: events.Event) -> None:
        raise RuntimeError("listener")

    policy = policy_of(FakeModel(window=1_400), **SETTINGS)
    result = await policy.apply(history(), ctx=PolicyContext(emit=broken))
    assert result.outcome == "compacted"
    assert summaries(result.entries)


async def test_a_callback_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What `on_compacted` raises is logged, and the view is sent."""

    async def broken(event: events.ContextCompacted) -> None:
        await anyio.lowlevel.checkpoint()
        raise RuntimeError("callback")

    policy = policy_of(**SETTINGS, on_compacted=broken)
    result = await policy.apply(history(14), ctx=PolicyContext())
    assert result.outcome == "compacted"
    assert "on_compacted" in caplog.text


async def test_a_callback_is_called_when_the_view_stands() -> None:
    """`on_compacted` hears of a pass once, after its decisions were saved."""
    heard: list[tuple[events.ContextCompacted, bool]] = []
    ctx = PolicyContext(session_id="s", run_id="r", agent="bot")

    async def hear(event: events.ContextCompacted) -> None:
        heard.append((event, "summary" in ctx.state["compacting"]))

    policy = policy_of(**SETTINGS, on_compacted=hear)
    transcript = history(14)
    result = await policy.apply(transcript, ctx=ctx)
    await policy.apply(transcript, ctx=ctx)
    ((event, saved),) = heard
    assert saved
    assert (event.session_id, event.run_id, event.agent) == ("s", "r", "bot")
    assert event.entries_before == transcript
    assert event.entries_after == result.entries
    assert event.summary == result.summary
    transcript.append(U("later"))
    assert event.entries_before != transcript


async def test_many_calls_at_once_pay_for_one_summary() -> None:
    """Of ten calls on one conversation one makes the pass; all get the same view."""
    model = FakeModel()
    policy = policy_of(model, **SETTINGS)
    transcript = history(14)
    ctx = PolicyContext(session_id="s")
    views: list[Any] = []

    async def call() -> None:
        views.append(await policy.apply(transcript, ctx=ctx))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(call)
    assert len(model.requests) == 1
    assert [view.outcome for view in views].count("compacted") == 1
    assert all(view.entries == views[0].entries for view in views)


async def test_a_call_that_is_cancelled_lets_the_next_one_in() -> None:
    """When the call that made the pass is cancelled, the one that waited makes it."""
    model = FakeModel(Answer("## Goal", hangs=True))
    policy = policy_of(model, **SETTINGS)
    ctx = PolicyContext(session_id="s")
    transcript = history(14)
    results: list[Any] = []
    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def hang() -> None:
            with scope:
                await policy.apply(transcript, ctx=ctx)

        async def wait() -> None:
            results.append(await policy.apply(transcript, ctx=ctx))

        tasks.start_soon(hang)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert results == []
        scope.cancel()
    assert results[0].outcome == "compacted"


async def test_flights_leave_nothing_behind() -> None:
    """A conversation that nobody works on takes no room, however its calls ended."""
    flights = Flights()

    async def fly(key: str, *, fails: bool) -> None:
        async with flights.turn(key):
            await anyio.lowlevel.checkpoint()
            if fails:
                raise KeyError(key)

    async def fly_all(*, fails: bool) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(partial(fly, f"s{number % 2}", fails=fails))

    await fly_all(fails=False)
    assert flights._locks == {}
    with pytest.raises(ExceptionGroup):
        await fly_all(fails=True)
    assert flights._locks == {}


async def test_more_conversations_than_are_held_keep_their_views() -> None:
    """A conversation that was dropped from memory comes back from its saved form."""
    policy: CompactingContextPolicy = policy_of(**SETTINGS)
    policy._desk._store._capacity = 3
    talks = [(history(14), PolicyContext(session_id=f"s{n}")) for n in range(8)]
    first = [(await policy.apply(said, ctx=ctx)).entries for said, ctx in talks]
    for (said, ctx), view in zip(talks, first, strict=True):
        again = await policy.apply(said, ctx=ctx)
        assert again.outcome is None
        assert again.entries == view
        assert len(policy._desk._store._held) == 3
