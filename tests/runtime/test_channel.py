"""The way of events to their reader."""

from __future__ import annotations

import anyio
import pytest

from lovia.events import Event, OutputDiscarded, TextDelta
from lovia.runtime.channel import EventChannel

pytestmark = pytest.mark.anyio


async def test_an_event_is_handled_when_the_reader_comes_back() -> None:
    """The teller goes on only after the reader has asked for the next event."""
    channel, told = EventChannel(), []

    async def tell() -> None:
        for word in "ab":
            await channel.deliver(TextDelta(word))
            told.append(word)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        assert await channel.next() == TextDelta("a")
        await anyio.wait_all_tasks_blocked()
        assert told == []
        assert await channel.next() == TextDelta("b")
        await anyio.wait_all_tasks_blocked()
        assert told == ["a"]
        channel.stop_reading()
    assert told == ["a", "b"]


async def test_tellers_do_not_hold_up_each_other() -> None:
    """Two parts of a run that tell at once are read one after another, none is lost."""
    channel = EventChannel()
    async with anyio.create_task_group() as tasks:
        for word in "abc":
            tasks.start_soon(channel.deliver, TextDelta(word))
        seen = [await channel.next() for _ in range(3)]
        channel.stop_reading()
    assert sorted(event.delta for event in seen if isinstance(event, TextDelta)) == [*"abc"]


async def test_the_first_last_event_is_the_last() -> None:
    """After the last event nothing is told any more, another last event neither."""
    channel = EventChannel()
    channel.finish(TextDelta("end"))
    channel.finish(TextDelta("other end"))
    await channel.deliver(OutputDiscarded())
    assert await channel.next() == TextDelta("end")
    assert await channel.next() is None
    assert await channel.next() is None


@pytest.mark.parametrize("when", ["before", "after"])
async def test_without_a_reader_only_the_last_event_is_kept(when: str) -> None:
    """A channel that nobody reads lets the teller go on and keeps the last event."""
    channel = EventChannel()
    if when == "before":
        channel.stop_reading()
    await_told: list[Event] = [TextDelta("a"), TextDelta("b")]
    async with anyio.create_task_group() as tasks:
        for event in await_told:
            tasks.start_soon(channel.deliver, event)
        await anyio.wait_all_tasks_blocked()
        channel.finish(TextDelta("end"))
        channel.stop_reading()
    assert await channel.next() == TextDelta("end")
    assert await channel.next() is None


async def test_a_reader_that_stops_waiting_loses_nothing() -> None:
    """An event that comes after a cancelled wait is there for the next one."""
    channel = EventChannel()
    with anyio.move_on_after(0.01):
        await channel.next()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.deliver, TextDelta("a"))
        assert await channel.next() == TextDelta("a")
        channel.stop_reading()
