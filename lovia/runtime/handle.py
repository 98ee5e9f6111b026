"""A run in progress: its events, its result, and its stop button."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import anyio

from lovia.cancellation import torn_down
from lovia.errors import UserError
from lovia.runtime.background import BackgroundTask
from lovia.runtime.control import RunControl
from lovia.runtime.execution import execute
from lovia.runtime.manual import CompactionTicket
from lovia_otel.names import REASON_PARENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator
    from types import TracebackType
    from typing import Any

    from anyio.abc import TaskGroup

    from lovia.events import Event
    from lovia.runtime.approvals import ApprovalChannel
    from lovia.runtime.options import RunOptions
    from lovia.runtime.result import RunResult
    from lovia.runtime.run_context import RunContext

__all__ = ["RunHandle"]


class RunHandle:
    """A run that was asked for; it begins when it is entered, iterated or awaited.

    The structured form works on asyncio and trio, and leaving the block early cancels the run and
    waits until it has stopped::

        async with Runner.stream(agent, "hello") as handle:
            async for event in handle:
                ...
            result = await handle.result()

    On asyncio, ``async for event in Runner.stream(...)`` works without the block; leaving that loop
    early cancels the run too. Iteration ends after exactly one ``RunCompleted`` or ``RunFailed``
    and never raises for a failure of the run; :meth:`result` does.
    """

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._control = RunControl(options)
        self._outcome: RunResult | BaseException | None = None
        self._ended = anyio.Event()
        self._tasks: TaskGroup | None = None
        self._background: BackgroundTask | None = None
        self._reader: int | None = None  # the task that iterates

    @property
    def context(self) -> RunContext[Any]:
        """The run's context: its transcript and usage so far, its mailbox, its active agent."""
        return self._control.context

    @property
    def approvals(self) -> ApprovalChannel:
        """The calls that wait for consent; answers may come from any task."""
        return self._control.approvals

    def compact(self, *, focus: str | None = None) -> CompactionTicket:
        """Ask for a compaction before the next model call.

        Args:
            focus: What the summary should dwell on.

        Returns:
            A ticket; awaiting it gives the ``ContextCompacted`` event, or raises ``UserError`` when
            the agent's policy cannot compact on request, and what the compaction failed with when
            it failed.
        """
        ticket = CompactionTicket(focus, self._read_by_me)
        self._control.desk.put(ticket)
        return ticket

    def cancel(self, reason: str | None = None) -> None:
        """Ask the run to stop.

        Whatever the run waits for is interrupted at once. What a model call has streamed is
        dropped; a tool that runs gets the result that it was interrupted and may have had an
        effect. (A tool that runs in a thread cannot be stopped; its result is dropped.) A run with
        a checkpointer is saved. The stream then ends with ``RunFailed``, and :meth:`result` raises
        ``RunCancelled``. May be called from any thread and from signal handlers.

        Args:
            reason: ``user`` (the default), ``timeout``, ``shutdown``, ``parent``, or your own word.
        """
        self._options.cancel_token.cancel(reason)

    async def result(self) -> RunResult:
        """Wait for the end of the run and return its result; unread events are dropped.

        Raises:
            Exception: What the run failed with; ``RunCancelled`` when it was cancelled.
        """
        if not self._begun:
            async with self:
                return await self.result()
        if self._reader is None or self._read_by_me():
            self._control.channel.stop_reading()  # nobody else reads, so nobody is waited for
        try:
            await self._ended.wait()
        except BaseException:
            self._leave()
            raise
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None  # noqa: S101 - set when the run ends
        return self._outcome

    def __await__(self) -> Generator[Any, Any, RunResult]:
        return self.result().__await__()

    def __aiter__(self) -> AsyncIterator[Event]:
        return _Events(self)

    async def __aenter__(self) -> Self:
        if self._begun:
            raise UserError("This run has begun already.", hint="Enter the handle before using it.")
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._main)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._tasks is not None  # noqa: S101 - set on entry
        if not self._control.channel.finished:
            from_outside = error is not None and not isinstance(error, Exception)
            self._options.cancel_token.cancel(REASON_PARENT if from_outside else None)
            self._tasks.cancel_scope.cancel()
        self._control.channel.stop_reading()
        if isinstance(error, Exception):
            kind = error = trace = None  # the block's own error leaves it as it is, in no group
        await self._tasks.__aexit__(kind, error, trace)

    def _read_by_me(self) -> bool:
        """Tell whether the current task is the one that reads the events."""
        return self._reader == anyio.get_current_task().id

    @property
    def _begun(self) -> bool:
        return self._tasks is not None or self._background is not None

    async def _main(self) -> None:
        """Execute the run; its failure is kept for :meth:`result`, a cancellation goes on."""
        try:
            self._outcome = await execute(self._options, self._control)
        except Exception as error:  # noqa: BLE001 - result() raises it
            self._outcome = error
        except BaseException:
            self._outcome = torn_down(self._options.cancel_token)
            raise
        finally:
            self._control.desk.close()
            self._ended.set()

    async def _next(self) -> Event | None:
        if not self._begun:
            self._background = BackgroundTask(self._main)
        self._reader = anyio.get_current_task().id
        try:
            return await self._control.channel.next()
        except BaseException:
            self._leave()  # a reader that is cancelled while it waits does not come back
            raise

    def _leave(self) -> None:
        """Stop a run that has no block around it and that nobody waits for any more."""
        if self._background is not None and not self._control.channel.finished:
            self._options.cancel_token.cancel()
            self._background.cancel()

    def _stop_reading(self) -> None:
        self._reader = None
        if self._background is not None:
            self._leave()


class _Events:
    """Iterates over the events of a run; when the loop over it is left early, the run is told.

    An object and no generator: one that is dropped half-way needs no event loop to be closed.
    """

    def __init__(self, handle: RunHandle) -> None:
        self._handle: RunHandle | None = handle

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = None if self._handle is None else await self._handle._next()  # noqa: SLF001
        if event is None:
            self._handle = None
            raise StopAsyncIteration
        return event

    def __del__(self) -> None:
        if self._handle is not None:
            self._handle._stop_reading()  # noqa: SLF001
