"""The tool calls of one turn: checked one after another, run side by side, recorded in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio

from lovia.errors import RunCancelled
from lovia.runtime.tool_preflight import ReadyCall, ask_ahead, preflight
from lovia.runtime.tool_result import ToolOutcome, interrupted
from lovia.runtime.tool_run import run_tool, tell_completed

if TYPE_CHECKING:
    from anyio.abc import TaskGroup, TaskStatus

    from lovia.runtime.state import RunState
    from lovia.runtime.turn_reply import TurnReply
    from lovia.tools import Tool
    from lovia.transcript.entries import ToolCallEntry, ToolResultEntry

__all__ = ["run_tool_calls"]


async def run_tool_calls(run: RunState, reply: TurnReply) -> None:
    """Run the calls of an answer and add their results to the transcript, in the calls' order.

    Calls that have their result already are passed over. However this ends, the transcript stays
    valid and nothing is done twice: a call that had begun has a result, be it that it was
    interrupted; calls that had not begun stay open. When one of them waits for approval, no later
    call begins, and ``run.waiting`` says which ones wait.

    Raises:
        RunCancelled: A stop was requested; calls that ran were interrupted.
        BudgetExceeded: The budget is spent; calls that had begun were let finish.
    """
    batch = _Batch(run, reply)
    try:
        await batch.run_all()
    finally:
        batch.close()


class _Batch:
    """The calls of one turn, and how far they are.

    A call has begun when its tool is about to be invoked, which is noted before. Results enter the
    transcript in the order of the calls: one that is there before an earlier one waits, and is kept
    beside the saved run meanwhile.
    """

    def __init__(self, run: RunState, reply: TurnReply) -> None:
        self._run = run
        self._calls = reply.calls
        self._recorded = run.own_length - reply.stop
        self._results: list[ToolResultEntry | None] = [None] * len(self._calls)
        self._admitted: set[int] = set()
        self._begun: set[int] = set()
        self._running = 0
        self._idle = anyio.Event()
        self._failure: Exception | None = None

    async def run_all(self) -> None:
        """Check and dispatch each call; wait for those that run, also when one stops the run."""
        await self._take_up_begun()
        async with anyio.create_task_group() as tasks:
            for index in range(self._recorded, len(self._calls)):
                try:
                    await self._dispatch(index, tasks)
                except Exception as error:  # noqa: BLE001 - raised below, when nothing runs any more
                    self._fail(error, tasks)
                if self._failure is not None:
                    break
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Give every call that began a result (no await: this also runs while being cancelled)."""
        run = self._run
        for index in sorted(self._begun):
            if self._results[index] is None:
                call = self._calls[index][1]
                self._results[index] = self._unfinished(call, run.active.tools.get(call.name))
        for index in self._admitted:
            if self._results[index] is None:
                run.readmit_call()  # it is looked at again when the run is resumed
        self._record_finished()

    async def _take_up_begun(self) -> None:
        """Record what is known of the calls that had begun when the run was saved last.

        They count again, and those that were admitted when the process died and had not begun do
        not.
        """
        run, first = self._run, self._recorded
        for index in range(first, len(self._calls)):
            position, call = self._calls[index]
            if position in run.begun:
                self._results[index] = self._known(call, run.begun[position])
        run.count_calls(first + sum(result is not None for result in self._results))
        self._record_finished()
        if self._recorded == first:
            return
        await run.save()
        for index in range(first, self._recorded):
            result = self._results[index]
            if result is not None:
                await tell_completed(run, self._calls[index][1], ToolOutcome(result.output, result))

    def _known(self, call: ToolCallEntry, kept: ToolResultEntry | None) -> ToolResultEntry | None:
        """Return the result of a call that had begun, kept or not; a handoff is pending again."""
        if kept is None:
            return self._unfinished(call)
        handoff = self._run.active.handoffs.get(call.name)
        if handoff is not None and not kept.is_error:
            self._run.handoff.restore(handoff)
        return kept

    def _unfinished(self, call: ToolCallEntry, tool: Tool | None = None) -> ToolResultEntry | None:
        """Return the result of a call that had begun and was not let finish.

        A handoff is taken for fired. One that may be made again stays open, for the next life.
        """
        handoff = self._run.active.handoffs.get(call.name)
        if handoff is None:
            return interrupted(call, tool)
        return None if handoff.idempotent else self._run.handoff.fired(handoff, call)

    async def _dispatch(self, index: int, tasks: TaskGroup) -> None:
        run, (position, call) = self._run, self._calls[index]
        if self._results[index] is not None:
            return
        run.checkpoint("tool_preflight")
        if run.waiting:
            await ask_ahead(run, position, call)
            return
        run.admit_call()
        self._admitted.add(index)
        ready = await preflight(run, position, call)
        if ready == "waits":
            run.waiting[position] = call.call_id
        elif not isinstance(ready, ReadyCall):
            self._take(index, ready)
            await self._finish(index, ready)
        else:
            await self._start(index, ready, tasks)

    async def _start(self, index: int, ready: ReadyCall, tasks: TaskGroup) -> None:
        if not ready.tool.parallel:
            await self._until_idle()
            if self._failure is not None:
                return
            self._run.checkpoint("tool_preflight")  # waiting took its time
        self._running += 1
        if ready.tool.parallel:
            await tasks.start(self._begin, index, ready, tasks)  # so that calls begin in order
        else:
            await self._execute(index, ready, tasks)

    async def _begin(
        self,
        index: int,
        ready: ReadyCall,
        tasks: TaskGroup,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()
        await self._execute(index, ready, tasks)

    async def _execute(self, index: int, ready: ReadyCall, tasks: TaskGroup) -> None:
        begin, take = partial(self._note, index), partial(self._take, index)
        try:
            position, call = self._calls[index]
            key = self._run.key_of(position)
            outcome = await run_tool(
                self._run, ready.tool, call, ready.args, key=key, begin=begin, take=take
            )
            await self._finish(index, outcome)
        except Exception as error:  # noqa: BLE001 - raised by run_all, when nothing runs any more
            self._fail(error, tasks)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _note(self, index: int) -> None:
        """Note that a call begins, in the saved run first; what is made again is noted there."""
        run, position = self._run, self._calls[index][0]
        if run.journal is not None and position not in run.begun:
            await run.journal.begin(run, position)
        self._begun.add(index)

    def _take(self, index: int, outcome: ToolOutcome) -> None:
        """Take a result into the transcript, or keep it for when it is its turn."""
        if outcome.error is not None:
            name = self._calls[index][1].name
            self._run.handoff.release(self._run.active.handoffs.get(name))
        self._results[index] = outcome.entry
        self._record_finished()

    async def _finish(self, index: int, outcome: ToolOutcome) -> None:
        """Save a result and tell of it."""
        position, call = self._calls[index]
        if self._recorded > index:
            await self._run.save()
        elif self._run.journal is not None:
            await self._run.journal.keep(position, outcome.entry)
        await tell_completed(self._run, call, outcome)

    def _fail(self, error: Exception, tasks: TaskGroup) -> None:
        self._failure = self._failure or error
        if isinstance(error, RunCancelled):
            tasks.cancel_scope.cancel()

    def _record_finished(self) -> None:
        """Add to the transcript the results that nothing before them is missing for."""
        while self._recorded < len(self._results):
            result = self._results[self._recorded]
            if result is None:
                return
            self._run.append([result])
            self._recorded += 1

    async def _until_idle(self) -> None:
        while self._running:
            self._idle = anyio.Event()
            await self._idle.wait()
