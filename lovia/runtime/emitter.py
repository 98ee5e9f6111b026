"""Telling the events of a run: first to hooks, then to the stream."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from lovia.events import Event
    from lovia.hooks import AgentHooks
    from lovia.runtime.channel import EventChannel
    from lovia.runtime.run_context import RunContext

__all__ = ["Emitter"]

# Seconds that hooks get for the last event of a run that is being torn down.
_GRACE: Final = 5.0


class Emitter:
    """Tells each event to the hooks of the active agent, then to the reader of the stream.

    Attributes:
        channel: The way to the reader.
        ctx: What hooks get beside the event.
        listeners: Hooks that hear of events beside those of the active agent.
        quiet: Whether no hook hears of anything: they have heard it all, in an earlier process.
    """

    def __init__(self, channel: EventChannel, ctx: RunContext[Any]) -> None:
        self.channel = channel
        self.ctx = ctx
        self.listeners: list[AgentHooks] = []
        self.quiet = False
        self._soon: deque[Event] = deque()
        self._busy = False  # telling an event that was taken from the queue
        self._closed = False
        self._news = anyio.Event()
        self._calm = anyio.Event()

    async def emit(self, event: Event, *also: AgentHooks | None) -> None:
        """Tell an event and wait until it has been handled.

        Args:
            event: The event.
            also: Hooks that hear of it before those of the active agent.
        """
        await self._dispatch(event, *also)
        await self.channel.deliver(event)

    def emit_soon(self, event: Event) -> None:
        """Tell an event without waiting: :meth:`pump` does, in the order of these calls."""
        self._soon.append(event)
        self._news.set()

    async def flush(self) -> None:
        """Wait until everything that :meth:`emit_soon` took has been handled."""
        while self._soon or self._busy:
            self._calm = anyio.Event()
            await self._calm.wait()

    async def pump(self) -> None:
        """Emit what :meth:`emit_soon` takes, until :meth:`close`."""
        while not self._closed:
            self._news = anyio.Event()  # before the work: what comes during it is news too
            self._busy = True
            while self._soon:
                await self.emit(self._soon.popleft())
            self._busy = False
            self._calm.set()
            await self._news.wait()

    def close(self) -> None:
        """Let :meth:`pump` end."""
        self._closed = True
        self._news.set()

    async def finish(self, event: Event) -> None:
        """Tell the last event of the run, after everything that :meth:`emit_soon` took."""
        try:
            await self.flush()
            await self._dispatch(event)
        finally:
            self.channel.finish(event)

    async def finish_torn_down(self, event: Event) -> None:
        """Tell the last event of a run whose task is being cancelled; hooks get a short grace.

        Nobody pumps any more, and the reader may be gone: hooks alone hear what was to be told.
        """
        with anyio.move_on_after(_GRACE, shield=True):
            try:
                while self._soon:
                    await self._dispatch(self._soon.popleft())
                await self._dispatch(event)
            finally:
                self.channel.finish(event)

    async def _dispatch(self, event: Event, *also: AgentHooks | None) -> None:
        if self.quiet:
            return
        heard: list[AgentHooks] = []
        for hooks in (*also, getattr(self.ctx.agent, "hooks", None), *self.listeners):
            if hooks is not None and all(hooks is not one for one in heard):
                heard.append(hooks)
                await hooks.dispatch(event, self.ctx)
