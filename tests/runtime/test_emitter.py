"""Telling events to hooks and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import AgentHooks, RunContext
from lovia.events import Event, RunFailed, TextDelta
from lovia.runtime.channel import EventChannel
from lovia.runtime.emitter import Emitter
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from lovia import Agent

pytestmark = pytest.mark.anyio


def emitter_of(agent: Agent[Any], *, read: bool = False) -> Emitter:
    """Return an emitter; nobody reads its channel unless asked for."""
    channel = EventChannel()
    if not read:
        channel.stop_reading()
    return Emitter(channel, RunContext(deps=None, entries=[], agent=agent))


async def test_what_is_told_soon_comes_in_order_and_before_flush_returns() -> None:
    """Events told without waiting reach hooks in order; flush waits for all of them."""
    hooks, heard = AgentHooks(), []

    @hooks.on(TextDelta)
    async def slow(event: TextDelta, _ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append(event.delta)

    emitter = emitter_of(scripted(hooks=hooks))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.pump)
        for word in "abc":
            emitter.emit_soon(TextDelta(word))
        assert heard == []
        await emitter.flush()
        assert heard == ["a", "b", "c"]
        await emitter.flush()
        emitter.close()


async def test_closing_while_an_event_is_told_ends_the_pump() -> None:
    """A pump that is still busy with a slow hook when it is closed ends after that event."""
    hooks, heard, slow = AgentHooks(), [], anyio.Event()

    @hooks.on(TextDelta)
    async def wait(event: TextDelta, _ctx: Any) -> None:
        await slow.wait()
        heard.append(event.delta)

    emitter = emitter_of(scripted(hooks=hooks))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(emitter.pump)
            emitter.emit_soon(TextDelta("a"))
            await anyio.wait_all_tasks_blocked()
            emitter.close()
            slow.set()
    assert heard == ["a"]


@pytest.mark.parametrize("torn_down", [False, True])
async def test_the_last_event_comes_after_what_was_to_be_told_soon(torn_down: bool) -> None:
    """Events that wait to be told are heard before the one that ends the run."""
    hooks, heard = AgentHooks(), []
    hooks.on_any(lambda event, _ctx: heard.append(event))
    emitter, failed = emitter_of(scripted(hooks=hooks)), RunFailed(OSError())
    async with anyio.create_task_group() as tasks:
        if not torn_down:
            tasks.start_soon(emitter.pump)
        emitter.emit_soon(TextDelta("a"))
        await (emitter.finish_torn_down(failed) if torn_down else emitter.finish(failed))
        emitter.close()
    assert heard == [TextDelta("a"), failed]


async def test_hooks_hear_an_event_before_the_reader() -> None:
    """By the time the reader has an event, every hook has handled it; each hook once."""
    hooks, heard = AgentHooks(), []
    hooks.on_any(lambda event, _ctx: heard.append(event))
    emitter = emitter_of(scripted(hooks=hooks), read=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(emitter.emit, TextDelta("a"), hooks, None)
        event = await emitter.channel.next()
        assert heard == [event]
        emitter.channel.stop_reading()


async def test_the_last_event_is_told_while_being_cancelled() -> None:
    """Hooks and reader get the last event of a run whose task is cancelled, in a bounded time."""
    hooks, heard = AgentHooks(), []

    @hooks.on(RunFailed)
    async def slow(event: Event, _ctx: Any) -> None:
        await anyio.sleep(0.01)
        heard.append(event)

    emitter, failed = emitter_of(scripted(hooks=hooks)), RunFailed(OSError())
    with anyio.CancelScope() as scope:
        scope.cancel()
        await emitter.finish_torn_down(failed)
    assert heard == [failed]
    assert await emitter.channel.next() is failed


async def test_a_hook_that_hangs_at_the_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that never returns does not keep a torn-down run alive."""
    monkeypatch.setattr("lovia.runtime.emitter._GRACE", 0.01)
    hooks = AgentHooks()

    @hooks.on_any
    async def hang(_event: Event, _ctx: Any) -> None:
        await anyio.sleep(30)

    emitter = emitter_of(scripted(hooks=hooks))
    with anyio.fail_after(10):
        await emitter.finish_torn_down(RunFailed(OSError()))
    assert emitter.channel.finished
