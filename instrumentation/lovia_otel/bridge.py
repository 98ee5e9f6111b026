"""From a runtime's events to telemetry, for runtimes that do not record themselves.

    hooks.on_any(EventBridge())

Who tells what: scopes do, wherever there are any. A runtime that opens scopes (lovia itself, the
0.9 line under :class:`~lovia_otel.LoviaInstrumentor`) and a policy under
:func:`~lovia_otel.observe` record spans, metrics and log events themselves, and the bridge passes
over the events that speak of them. It tells of all others: of ``ContextCompacted`` and its kin from
any source, recognised by their class's name, whatever package they come from.

The run never waits for it: an event's facts are taken on the spot and put into a bounded queue,
which a thread of the bridge empties. What does not fit is dropped and counted.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import time
import weakref
from typing import Final

from opentelemetry import context as otel_context

from lovia_otel import providers
from lovia_otel._forking import renew_in_child
from lovia_otel._telling import Passes, Telling, telling
from lovia_otel.guard import drop, lost
from lovia_otel.logs import Moment

MOST_WAITING: Final = 2_048  # events in the queue

_Item = tuple[Telling, Moment] | None  # nothing: the thread ends

_bridges: Final[weakref.WeakSet[EventBridge]] = weakref.WeakSet()


class EventBridge:
    """A handler of events, called as ``bridge(event, ctx)`` or ``bridge(event)``.

    Attributes:
        dropped: How many events found the queue full.
    """

    def __init__(self, *, max_waiting: int = MOST_WAITING) -> None:
        self.dropped: int = 0
        self._closed = False
        self._most = max_waiting
        self._passes = Passes()
        self._queue: queue.Queue[_Item] = queue.Queue(max_waiting)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        _bridges.add(self)
        renew_in_child(self)

    def __call__(self, event: object, ctx: object = None) -> None:
        """Take what ``event`` tells. Never blocks, never raises, and returns nothing.

        ``ctx`` is what the source hands its handlers: agent, run and session are looked for there
        where the event does not name them.
        """
        try:
            if self._closed or not providers.recording():
                return
            told = telling(event, ctx, self._passes)
            if told is not None:
                self._put(told)
        except Exception:  # noqa: BLE001 - events by anyone
            drop("EventBridge")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until all that was taken is told; ``False`` when ``seconds`` are not enough."""
        waiting = self._queue
        with waiting.all_tasks_done:
            return waiting.all_tasks_done.wait_for(lambda: not waiting.unfinished_tasks, seconds)

    def close(self, seconds: float = 5.0) -> bool:
        """Tell what was taken, and end; later events are passed over.

        Returns ``False`` when ``seconds`` are not enough: the rest is told when it can be.
        """
        self._closed = True
        told = self.flush(seconds)
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._queue.put_nowait(None)
            self._thread.join(seconds if told else 0.0)
        return told

    def _put(self, told: Telling) -> None:
        at = Moment(otel_context.get_current(), time.time_ns())
        try:
            self._queue.put_nowait((told, at))
        except queue.Full:
            self.dropped += 1
            lost(1)
            return
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_tell, args=(self._queue,), name="lovia-otel-bridge", daemon=True
                )
                self._thread.start()

    def begin_anew(self) -> None:
        """Begin with an empty queue and no thread, as in a forked child, which has no such thread.

        What was waiting is told by the parent.
        """
        self._queue = queue.Queue(self._most)
        self._thread = None
        self._lock = threading.Lock()


def flush_bridges(seconds: float) -> None:
    """Wait until all bridges have told what they took, but no longer than ``seconds``."""
    deadline = time.monotonic() + seconds
    for bridge in list(_bridges):
        bridge.flush(max(0.0, deadline - time.monotonic()))


def _tell(waiting: queue.Queue[_Item]) -> None:
    while True:
        item = waiting.get()
        if item is None:
            waiting.task_done()
            return
        told, at = item
        with contextlib.suppress(Exception):  # what tells is guarded; a thread tells nobody
            told(at)
        waiting.task_done()


atexit.register(flush_bridges, 2.0)
