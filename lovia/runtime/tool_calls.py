"""The tool calls of one turn: checked one after another, run side by side, recorded in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia.runtime.approvals import is_approved
from lovia.runtime.tool_result import ToolOutcome
from lovia.runtime.tool_run import run_tool, tell_completed
from lovia.tools import parse_arguments
from lovia.transcript.entries import ToolResultEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskGroup, TaskStatus

    from lovia.runtime.state import RunState
    from lovia.tools import Tool
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["run_tool_calls"]

_INTERRUPTED: Final = "Tool error: interrupted before it returned; it may have had an effect."


async def run_tool_calls(run: RunState, calls: Sequence[ToolCallEntry]) -> None:
    """Run the calls of one turn and add their results to the transcript, in the order of the calls.

    However this ends, the transcript stays valid and nothing is done twice: a call that had begun
    has a result, be it that it was interrupted; calls that had not begun stay open at its end.

    Raises:
        RunCancelled: A stop was requested; calls that had begun were let finish.
        BudgetExceeded: The budget is spent; likewise.
    """
    batch = _Batch(run, calls)
    try:
        await batch.run_all()
    finally:
        batch.close()


class _Batch:
    """The calls of one turn, and how far they are.

    Calls are dispatched in order, so that those which never began are always the last ones.
    """

    def __init__(self, run: RunState, calls: Sequence[ToolCallEntry]) -> None:
        self._run = run
        self._calls = calls
        self._results: list[ToolResultEntry | None] = [None] * len(calls)
        self._begun = 0
        self._recorded = 0
        self._running = 0
        self._idle = anyio.Event()
        self._failure: Exception | None = None

    async def run_all(self) -> None:
        """Check and dispatch each call; wait for those that run, also when one stops the run."""
        async with anyio.create_task_group() as tasks:
            for index in range(len(self._calls)):
                try:
                    await self._dispatch(index, tasks)
                except Exception as error:  # noqa: BLE001 - raised below, when nothing runs any more
                    self._failure = self._failure or error
                if self._failure is not None:
                    break
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Give every call that began a result (no await: this also runs while being cancelled)."""
        for index in range(self._recorded, self._begun):
            if self._results[index] is None:
                call_id = self._calls[index].call_id
                self._results[index] = ToolResultEntry(call_id, _INTERRUPTED, is_error=True)
        self._record_finished()

    async def _dispatch(self, index: int, tasks: TaskGroup) -> None:
        ready = await self._preflight(index)
        if ready is None:
            return
        tool, args = ready
        if not tool.parallel:
            await self._until_idle()
            if self._failure is not None:
                return
        self._begun = index + 1
        self._running += 1
        if tool.parallel:
            await tasks.start(self._begin, index, tool, args)  # so that calls begin in order
        else:
            await self._execute(index, tool, args)

    async def _preflight(self, index: int) -> tuple[Tool, dict[str, Any]] | None:
        """Decide whether a call is run; one that is not has its result at once."""
        run, call = self._run, self._calls[index]
        run.checkpoint("tool_preflight")
        if run.ctx.budget is not None:
            run.ctx.budget.record_tool_call()
            run.check_budget()
        tool = run.active.tools.get(call.name)
        if tool is None:
            text = f"Tool {call.name!r} is not available."
            await self._finish(index, ToolOutcome.refused(call.call_id, text))
            return None
        try:
            args = parse_arguments(call.arguments, tool=call.name)
            if tool.check is not None:
                tool.check(args)
            approved = await is_approved(run, tool, call, args)
        except Exception as error:  # noqa: BLE001 - arguments, and functions that users wrote
            await self._finish(index, ToolOutcome.failed(call.call_id, error))
            return None
        # Whoever was asked took their time: meanwhile the run may have been stopped.
        run.checkpoint("tool_preflight")
        if not approved:
            text = f"Tool {call.name!r} was not approved."
        elif not run.handoff.claim(run.active.handoffs.get(call.name)):
            text = "The conversation is being handed over already."
        else:
            return tool, args
        await self._finish(index, ToolOutcome.refused(call.call_id, text))
        return None

    async def _begin(
        self,
        index: int,
        tool: Tool,
        args: dict[str, Any],
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        task_status.started()
        await self._execute(index, tool, args)

    async def _execute(self, index: int, tool: Tool, args: dict[str, Any]) -> None:
        try:
            outcome = await run_tool(self._run, tool, self._calls[index], args)
            await self._finish(index, outcome)
        except Exception as error:  # noqa: BLE001 - raised by run_all, when nothing runs any more
            self._failure = self._failure or error
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _finish(self, index: int, outcome: ToolOutcome) -> None:
        self._begun = max(self._begun, index + 1)
        self._results[index] = outcome.entry
        self._record_finished()
        await tell_completed(self._run, self._calls[index], outcome)

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
