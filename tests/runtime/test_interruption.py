"""A stop reaches whatever the run waits for, and what it stopped is told and saved."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import (
    AgentHooks,
    CancelToken,
    CheckpointOptions,
    InMemoryCheckpointer,
    RunCancelled,
    Runner,
    ToolResultEntry,
    events,
    tool,
)
from lovia.errors import LoviaError
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import TextDelta
from tests.runtime.saving import Watched, add, saved_run
from tests.runtime.support import Untouched, events_of, kinds, provider_of, scripted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from lovia import Agent

pytestmark = pytest.mark.anyio


class Waiting:
    """A place in a run that waits for ever, and says when it does."""

    def __init__(self) -> None:
        self.reached = anyio.Event()

    async def wait(self) -> None:
        """Wait."""
        self.reached.set()
        await anyio.sleep(60)

    async def hook(self, *_args: Any) -> Any:
        """Wait where a function is called with arguments."""
        await self.wait()

    def agent(self, place: str) -> Agent[Any]:
        """Return an agent that gets stuck in a place."""
        waits: Any = self
        if place == "policy":

            class Stuck(Untouched):
                async def apply(self, entries: Any, *, ctx: Any) -> Any:
                    await waits.wait()

            return scripted(text("x"), context_policy=Stuck())
        if place == "stream":

            class Silent(ScriptedProvider):
                async def _answer(self, request: Any) -> AsyncGenerator[Any, None]:
                    yield TextDelta("half of it")
                    await waits.wait()

            return scripted(provider=Silent([]))
        if place == "hook":
            hooks = AgentHooks()
            hooks.on(events.TurnStarted)(waits.hook)
            return scripted(text("x"), hooks=hooks)
        fields: dict[str, dict[str, Any]] = {
            "tool": {"tools": [tool(self.wait, name="t")]},
            "instructions": {"instructions": waits.hook},
            "input guardrail": {"input_guardrails": [waits.hook]},
            "approval": {
                "tools": [tool(_body, name="t", needs_approval=True)],
                "approval_handler": waits.hook,
            },
        }
        return scripted(call("t"), name="bot", **fields[place])


async def _body() -> str:
    """Do something."""
    return "done"


PLACES = {
    "policy": "pass",
    "stream": "model_stream",
    "tool": "turn",
    "hook": "turn",
    "instructions": "turn",
    "input guardrail": "turn",
    "approval": "tool_preflight",
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_stop_ends_what_is_waited_for(place: str) -> None:
    """Wherever the run waits, a token that is cancelled ends it at once, with reason and place."""
    waiting, token = Waiting(), CancelToken()
    agent, store = waiting.agent(place), InMemoryCheckpointer()

    async def stop() -> None:
        await waiting.reached.wait()
        token.cancel("shutdown")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            seen, error = await saved_run(agent, store, cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert (error.reason, error.cancellation_checkpoint) == ("shutdown", PLACES[place])
    assert kinds(seen).count("RunFailed") == 1
    saved = await store.load("r")
    if place == "instructions":
        assert saved is None  # before its first agent is active a run is nothing yet
    else:
        assert saved is not None
        assert (saved.status, saved.outcome) == ("interrupted", "cancelled")
        assert saved.turns == (1 if place in {"tool", "approval"} else 0)


@pytest.mark.parametrize("how", ["thread", "signal"])
async def test_a_stop_may_come_from_anywhere(how: str) -> None:
    """Another thread or a signal handler may ask for it; the loop is woken."""
    waiting, token = Waiting(), CancelToken()

    def stop() -> None:
        if how == "thread":
            threading.Thread(target=token.cancel, args=("timeout",)).start()
        else:
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda *_args: token.cancel("timeout"))
    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_when, waiting.reached, stop)
                with pytest.raises(RunCancelled) as caught:
                    await Runner.run(waiting.agent("stream"), "go", cancel_token=token)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught.value.reason == "timeout"


async def _when(happened: anyio.Event, act: Callable[[], None]) -> None:
    await happened.wait()
    await anyio.wait_all_tasks_blocked()
    act()


async def test_a_signal_wakes_a_loop_that_sleeps() -> None:
    """A signal that arrives while nothing else happens ends the wait at once."""
    waiting, token = Waiting(), CancelToken()
    before = signal.signal(signal.SIGALRM, lambda *_args: token.cancel("shutdown"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with anyio.fail_after(10), pytest.raises(RunCancelled):
            await Runner.run(waiting.agent("stream"), "go", cancel_token=token)
    finally:
        signal.signal(signal.SIGALRM, before)


async def test_a_run_inside_a_tool_stops_with_the_outer_one() -> None:
    """A stop of the outer run ends the inner model call; what the inner one spent is counted."""
    waiting, token = Waiting(), CancelToken()
    inner = waiting.agent("stream").clone(name="inner")
    outer = scripted(call("ask_inner", {"input": "x"}), tools=[inner.as_tool()])
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_when, waiting.reached, token.cancel)
            _, error = await saved_run(outer, InMemoryCheckpointer(), cancel_token=token)
    assert isinstance(error, RunCancelled)


async def test_side_by_side_calls_are_all_stopped() -> None:
    """All running tools are interrupted by one stop, and each has a result that says so."""
    places = [Waiting(), Waiting()]
    token, store = CancelToken(), InMemoryCheckpointer()
    from lovia.testing import batch

    tools = [tool(place.wait, name=f"t{n}") for n, place in enumerate(places)]
    agent = scripted(batch(("t0", {}), ("t1", {})), tools=tools)

    async def stop() -> None:
        for place in places:
            await place.reached.wait()
        token.cancel()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            _, error = await saved_run(agent, store, cancel_token=token)
    assert isinstance(error, RunCancelled)
    saved = await store.load("r")
    assert saved is not None
    told = [entry.output for entry in saved.entries if isinstance(entry, ToolResultEntry)]
    assert len(told) == 2
    assert all("may have had an effect" in output for output in told)


async def test_saving_is_a_safe_point() -> None:
    """A stop that was asked for meanwhile is noticed before the next save."""
    token, store = CancelToken(), InMemoryCheckpointer()

    def stop(event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            token.cancel()

    seen, error = await saved_run(scripted(text("x")), store, stop, cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert error.cancellation_checkpoint in {"checkpoint_save", "turn"}
    assert kinds(seen) == ["RunStarted", "RunFailed"]
    token = CancelToken()
    token.cancel("parent")
    _, error = await saved_run(scripted(), store, run_id="other", cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert (error.reason, error.cancellation_checkpoint) == ("parent", "checkpoint_save")


async def test_leaving_a_stream_saves_the_run() -> None:
    """A reader that leaves early leaves a saved run that says it was cancelled, and goes on."""
    store = InMemoryCheckpointer()
    checkpoint = CheckpointOptions(store, "r")
    agent = scripted(call("add", {"a": 1}), text("a b c"), tools=[add])
    async with Runner.stream(agent, "go", checkpoint=checkpoint) as handle:
        async for event in handle:
            if isinstance(event, events.TextDelta):
                break
    with pytest.raises(RunCancelled):
        await handle.result()
    saved = await store.load("r")
    assert saved is not None
    assert (saved.outcome, saved.turns, len(saved.entries)) == ("cancelled", 1, 3)
    assert saved.error is not None
    assert saved.error["type"] == "RunCancelled"
    agent = scripted(text("done"), tools=[add])
    _, result = await saved_run(agent, store)
    assert (result.output, result.turns) == ("done", 2)


async def test_a_cancelled_scope_saves_the_run() -> None:
    """Native cancellation saves what there is, with the results of interrupted tools."""
    waiting, store = Waiting(), InMemoryCheckpointer()
    agent = waiting.agent("tool")
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_when, waiting.reached, scope.cancel)
            await Runner.run(agent, "go", checkpoint=CheckpointOptions(store, "r"))
    saved = await store.load("r")
    assert saved is not None
    assert saved.outcome == "cancelled"
    assert isinstance(saved.entries[-1], ToolResultEntry)
    assert "interrupted" in saved.entries[-1].output


async def test_a_save_in_hand_is_carried_through() -> None:
    """A run that is cancelled while it is saved waits for the save, and writes nothing twice."""

    class Slow(Watched):
        async def append(self, run_id: str, entries: Any, head: Any) -> None:
            if len(self.heads) == 1:
                token.cancel()
            await anyio.sleep(0.01)
            await super().append(run_id, entries, head)

    token, store = CancelToken(), Slow()
    agent = scripted(call("add", {"a": 1}), text("x"), tools=[add])
    _, error = await saved_run(agent, store, cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert store.tails == [1, 1, 0]
    saved = await store.load("r")
    assert saved is not None
    assert len(saved.entries) == 2


async def test_a_store_that_hangs_does_not_hold_up_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled run gives a save that does not end some time, and then ends without it."""
    monkeypatch.setattr("lovia.runtime.carrying._GRACE", 0.05)
    monkeypatch.setattr("lovia.runtime.execution._GRACE", 0.05)
    reached = anyio.Event()

    class Hanging(Watched):
        async def append(self, run_id: str, entries: Any, head: Any) -> None:
            reached.set()
            await anyio.sleep(60)

    with anyio.fail_after(10), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_when, reached, scope.cancel)
            await saved_run(scripted(text("x")), Hanging())
    assert scope.cancelled_caught


async def test_a_token_calls_back() -> None:
    """Callbacks are called at every request, at once when there was one, and not once removed."""
    token, called = CancelToken(), list[str]()
    remove = token.on_cancel(lambda: called.append("first"))
    token.on_cancel(lambda: called.append("second"))
    remove()
    token.cancel()
    token.on_cancel(lambda: called.append("late"))
    assert called == ["second", "late"]
    remove()


async def test_nothing_is_left_on_the_token() -> None:
    """A token outlives many runs and keeps nothing of them."""
    token = CancelToken()
    for _ in range(3):
        await Runner.run(scripted(text("ok")), "go", cancel_token=token)
    assert token._callbacks == {}


async def test_a_stop_after_the_end_does_nothing() -> None:
    """Cancelling a run that has ended changes nothing."""
    handle = Runner.stream(scripted(text("ok")), "go")
    await events_of(handle)
    handle.cancel()
    assert (await handle.result()).output == "ok"
    assert issubclass(RunCancelled, LoviaError)
    assert provider_of(scripted()).requests == []
