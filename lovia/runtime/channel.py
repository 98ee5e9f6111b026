"""The way of a run's events to whoever reads them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from lovia.events import Event

__all__ = ["EventChannel"]


class EventChannel:
    """Hands the events of a run to one reader, in order.

    An event counts as handled when the reader comes back for the next one, and the part of the run
    that told it waits until then. So what a reader does about an event (cancel, steer, approve) is
    done before that part of the run goes on, and a slow reader slows the run instead of filling
    memory. Other parts of the run, such as tools that run side by side, are not held up.

    Nobody has to read: events that are told to a channel without a reader are dropped, but for the
    last one.
    """

    def __init__(self) -> None:
        self.finished: bool = False
        self._reading = True
        self._queue: deque[tuple[Event, anyio.Event | None]] = deque()
        self._handled: anyio.Event | None = None  # of the event that the reader has now
        self._arrived: anyio.Event | None = None  # set while the reader waits

    async def deliver(self, event: Event) -> None:
        """Tell an event and wait until the reader has handled it."""
        if not self._reading or self.finished:
            return
        handled = anyio.Event()
        self._put(event, handled)
        await handled.wait()

    def finish(self, event: Event) -> None:
        """Tell the last event; the first one told is the last one, whatever comes after it."""
        if not self.finished:
            self.finished = True
            self._put(event, None)

    def stop_reading(self) -> None:
        """Drop what was not read, and from now on everything but the last event."""
        self._reading = False
        self._let_go()
        last = self._queue.pop() if self._queue and self._queue[-1][1] is None else None
        for _, handled in self._queue:
            if handled is not None:
                handled.set()
        self._queue.clear()
        if last is not None:
            self._queue.append(last)

    async def next(self) -> Event | None:
        """Return the next event, or ``None`` after the last one."""
        self._let_go()
        while not self._queue:
            if self.finished:
                return None
            self._arrived = anyio.Event()
            await self._arrived.wait()
        event, self._handled = self._queue.popleft()
        return event

    def _put(self, event: Event, handled: anyio.Event | None) -> None:
        self._queue.append((event, handled))
        if self._arrived is not None:
            self._arrived.set()

    def _let_go(self) -> None:
        if self._handled is not None:
            self._handled.set()
            self._handled = None
