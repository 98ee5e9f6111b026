"""A pass can be stopped anywhere: what was finished stays, nothing is half done."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import CancelToken, InMemorySession, Runner, events
from lovia.cancellation import CHECKPOINTS
from lovia.context import FileCompactionArchive, PolicyContext
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import BudgetExceeded, ProviderError, RunCancelled
from lovia.testing import ScriptedProvider, text
from lovia.transcript import ToolResultEntry
from lovia.usage import RunBudget
from tests.cases.interrupting import Watched, cancelled_at, waits_of
from tests.cases.support import Conversation, check_view, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, SPENT, Answer, FakeModel, no_wait
from tests.notation import A, C, S, T, U
from tests.runtime.support import events_of, kinds, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import RunHandle
    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {
    "context_window_tokens": 3_000,
    "max_entries": None,
    "large_tool_result_chars": 4_000,
    "tool_result_preview_chars": 100,
}


def history() -> list[TranscriptEntry]:
    """Return a conversation over its window, with a large result that just arrived."""
    said: list[TranscriptEntry] = [S()]
    for n in range(20):
        said += [U(f"u{n}", tokens=90), A(f"a{n}", tokens=90)]
    return [*said, U("read"), C("big"), T("big", "b", tokens=1_500)]


class Passes:
    """One pass over the same history again and again, each time from the start.

    The summarizer's window makes it take several folds. The newest attempt can be looked at.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempts = 0
        self.renew()

    def renew(self) -> None:
        """Forget the last attempt."""
        self.attempts += 1
        self.model = FakeModel(window=1_400)
        self.archive = FileCompactionArchive(self.folder / str(self.attempts))
        self.policy = policy_of(self.model, **SETTINGS, archive=self.archive)
        self.talk = Conversation(self.policy, *history())
        self.told: list[events.Event] = []
        self.ctx = PolicyContext(state=self.talk.state, usage=self.talk.usage, session_id="s")
        self.ctx.emit = self.told.append

    async def make(self) -> ContextPolicyResult:
        """Make the pass; the transcript stays what it is however it ends."""
        before = list(self.talk.transcript)
        try:
            return await self.policy.apply(self.talk.transcript, ctx=self.ctx)
        finally:
            assert self.talk.transcript == before

    @property
    def folds(self) -> int:
        """Folds that were finished."""
        return len([e for e in self.told if isinstance(e, events.SummaryFoldCompleted)])

    async def check_rest(self) -> None:
        """What is left is consistent: in memory, when saved, and for the pass that follows."""
        covered = self.covered()
        assert bool(covered) == (self.folds > 0)
        assert self.talk.usage.summary.input_tokens % SPENT.input_tokens == 0
        assert self.talk.usage.summary.input_tokens == self.talk.usage.input_tokens
        resumed = self.talk.resumed(self.policy)
        read = "\n".join(request.text for request in self.model.requests[: self.folds])
        for talk in (resumed, self.talk):
            self.model.requests.clear()
            view = (await talk.view()).entries
            assert len(summaries(view)) == 1
            shown = next(e for e in view if isinstance(e, ToolResultEntry))
            assert shown.origin == "placeholder"
            assert shown.output.startswith("<persisted-tool-result>")
            again = "\n".join(request.text for request in self.model.requests)
            for index in covered:
                name = str(getattr(self.talk.transcript[index], "content", "")).split()[0]
                assert f"{name} {name}" in read
                assert f"{name} {name}" not in again

    def covered(self) -> list[int]:
        """Return the transcript indices that the saved summary covers."""
        saved = json.loads(json.dumps(self.talk.state)).get("compacting", {}).get("summary")
        spans = saved["covers"] if saved else []
        return [index for start, stop in spans for index in range(start, stop)]


async def test_a_cancellation_at_any_wait_keeps_what_was_finished(tmp_path: Path) -> None:
    """Whenever a pass is cancelled, finished folds stay, and no covered entry is read again."""
    passes = Passes(tmp_path)
    waits = await waits_of(passes.make())
    assert passes.folds >= 3
    stopped, kept = 0, set()
    for wait in range(1, waits + 1):
        passes.renew()
        if await cancelled_at(wait, passes.make()):
            stopped += 1
            kept.add(passes.folds)
            ended = [e for e in passes.told if isinstance(e, events.CompactionEnded)]
            started = [e for e in passes.told if isinstance(e, events.CompactionStarted)]
            assert [e.outcome for e in ended] == ["cancelled"] * len(started)
        await passes.check_rest()
    assert stopped > waits // 2
    assert kept >= {0, 1, 2}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_that_is_cancelled_twice_ends_cancelled(tmp_path: Path) -> None:
    """Cancelling the task itself, and once more while it ends, raises its CancelledError."""
    passes = Passes(tmp_path)
    waits = await waits_of(passes.make())
    for wait in range(1, waits):
        passes.renew()

        async def work(wait: int = wait) -> None:
            me = asyncio.current_task()

            def on_wait(count: int) -> None:
                if count in {wait, wait + 1} and me is not None:
                    me.cancel()

            await Watched(passes.make(), on_wait)

        task = asyncio.create_task(work())
        await asyncio.wait([task])
        if task.cancelled():
            await passes.check_rest()
        else:
            assert wait >= waits - 2


class StopsAt(CancelToken):
    """A token on which somebody asks for a stop just before its n-th safe point."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._left = number

    def check(self, checkpoint: str | None = None) -> None:
        """Pass a safe point, or not."""
        self._left -= 1
        if self._left == 0:
            self.cancel("shutdown")
        super().check(checkpoint)


async def test_a_requested_stop_is_honoured_at_each_safe_point(tmp_path: Path) -> None:
    """Each safe point of a pass stops it, says its name, and keeps what was finished."""
    passes = Passes(tmp_path)
    token = passes.ctx.cancel = CancelToken()
    await passes.make()
    names = set()
    for number in range(1, token.checkpoints_passed + 1):
        passes.renew()
        passes.ctx.cancel = StopsAt(number)
        with pytest.raises(RunCancelled) as caught:
            await passes.make()
        assert caught.value.cancellation_reason == "shutdown"
        if caught.value.cancellation_checkpoint not in names or number % 5 == 0:
            await passes.check_rest()
        names.add(caught.value.cancellation_checkpoint)
    assert names == {"pass", "stage", "fold", "summary_stream"}
    assert names <= set(CHECKPOINTS)


async def test_a_spent_budget_stops_between_folds(tmp_path: Path) -> None:
    """Folds made before the budget was spent are kept, and no further one is begun."""
    passes = Passes(tmp_path)
    passes.ctx.budget = RunBudget(max_input_tokens=1_500)
    with pytest.raises(BudgetExceeded):
        await passes.make()
    assert passes.folds == 2
    assert len(passes.model.requests) == 2
    await passes.check_rest()


#: Models that begin to answer and never end well.
BROKEN = {
    "never_yields": Answer("", hangs=True, usage=None),
    "stops_yielding": Answer("## Goal\nhalf a", hangs=True),
    "connection_lost": Answer("## Goal\nhalf a", error=ConnectionResetError("gone")),
    "refused_by_the_server": Answer("", error=ProviderError("no", status_code=400)),
    "overloaded": Answer("## Goal", error=ProviderError("busy", status_code=529)),
    "bug": Answer("## Goal", error=KeyError("choices")),
}


def broken_policy(answer: Answer, **settings: Any) -> Any:
    """Return a policy whose summaries end like this."""
    model = FakeModel(then=lambda request: answer)
    summarizer = LLMSummarizer(model, timeout=0.05, retry=no_wait(2))
    return policy_of(model, summarizer=summarizer, **settings)


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_summary_that_never_comes_is_a_failure_in_time(answer: Answer) -> None:
    """The pass ends by itself as failed; nothing says that anything was compacted."""
    told: list[events.ContextCompacted] = []
    seen: list[events.Event] = []

    async def on_compacted(event: events.ContextCompacted) -> None:
        told.append(event)

    policy = broken_policy(
        answer, context_window_tokens=3_000, max_entries=None, on_compacted=on_compacted
    )
    transcript = [*history()[:-3], U("go on")]
    ctx = PolicyContext(emit=seen.append)
    with anyio.fail_after(5):
        result = await policy.apply(transcript, ctx=ctx)
    check_view(result.entries, transcript)
    assert result.outcome in {"failed", "partial"}
    assert result.summary is None
    assert not summaries(result.entries)
    ended = [event for event in seen if isinstance(event, events.CompactionEnded)]
    assert [event.outcome for event in ended] == [result.outcome]
    assert all(event.outcome == "partial" for event in told)
    assert not any(record.outcome == "applied" for record in result.stages if "summ" in record.name)


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_run_goes_on_when_its_summary_never_comes(answer: Answer) -> None:
    """While the request still fits, the model answers it; the stream never says "compacted"."""
    policy = broken_policy(answer, context_window_tokens=4_200, max_entries=None)
    provider = ScriptedProvider([text("fine")])
    agent = scripted(provider=provider, context_policy=policy)
    seen = await events_of(Runner.stream(agent, [*history()[:-3], U("go on")]))
    assert kinds(seen)[-1] == "RunCompleted"
    assert "ContextCompacted" not in kinds(seen)
    assert kinds(seen).count("CompactionStarted") == kinds(seen).count("CompactionEnded") == 1


async def stopped_at(number: int, handle: RunHandle, how: str) -> list[str]:
    """Stop a run at its n-th event, by its handle or from around it; return the events' kinds."""
    seen: list[str] = []
    with anyio.CancelScope() as scope:

        def stop(event: events.Event) -> None:
            seen.append(type(event).__name__)
            if len(seen) == number:
                scope.cancel() if how == "scope" else handle.cancel()

        await events_of(handle, stop)
    return seen


@pytest.mark.parametrize("how", ["scope", "handle"])
async def test_a_conversation_outlives_a_stopped_run(how: str) -> None:
    """Wherever a run is stopped, its session has what it had, and the next run goes on there."""
    session = InMemorySession()
    told: dict[str, Any] = {"session": session, "session_id": "s"}
    await Runner.run(scripted(text("stored")), history(), **told)
    before = await session.load("s")
    moments = set()
    for number in range(1, 100):
        policy = policy_of(FakeModel(window=1_400), **SETTINGS)
        agent = scripted(text("fine"), context_policy=policy)
        seen = await stopped_at(number, Runner.stream(agent, "go on", **told), how)
        if seen[-1] == "RunCompleted":
            break
        moments.add(seen[number - 1])
        assert await session.load("s") == before
    assert moments >= {"CompactionStarted", "SummaryFoldCompleted", "CompactionEnded", "TextDelta"}
    assert await session.load("s") == [*before, U("go on"), A("fine")]


async def test_a_run_that_waits_for_a_summary_is_cancelled_at_once() -> None:
    """Asking a run to stop ends the wait for a summary's next piece, and says why."""
    answering = Answer(GOOD, hangs=True)
    policy = policy_of(
        FakeModel(then=lambda request: answering), context_window_tokens=4_200, max_entries=None
    )
    agent = scripted(text("never"), context_policy=policy)
    handle = Runner.stream(agent, [*history()[:-3], U("go on")])

    def stop(event: events.Event) -> None:
        if isinstance(event, events.CompactionStarted):
            handle.cancel("timeout")

    with anyio.fail_after(5):
        seen = await events_of(handle, stop)
    with pytest.raises(RunCancelled) as caught:
        await handle.result()
    assert caught.value.cancellation_reason == "timeout"
    assert kinds(seen)[-3:] == ["CompactionStarted", "CompactionEnded", "RunFailed"]
