"""Deciding whether a tool call is run: the tool, its arguments, the consent it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lovia.runtime.approvals import approval_of
from lovia.runtime.tool_result import ToolOutcome
from lovia.tools import parse_arguments

if TYPE_CHECKING:
    from lovia.runtime.approvals import Answer
    from lovia.runtime.state import RunState
    from lovia.tools import Tool
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["Clearance", "ReadyCall", "ask_ahead", "preflight"]


@dataclass(frozen=True)
class ReadyCall:
    """A call that may run: its tool, and the arguments as the model wrote them."""

    tool: Tool
    args: dict[str, Any]


#: A call may run, has its result already, or waits for approval.
Clearance: TypeAlias = 'ReadyCall | ToolOutcome | Literal["waits"]'


async def preflight(run: RunState, position: int, call: ToolCallEntry) -> Clearance:
    """Decide on a call.

    Raises:
        RunCancelled: A stop was requested.
    """
    tool = run.active.tools.get(call.name)
    if tool is None:
        return ToolOutcome.refused(call.call_id, f"Tool {call.name!r} is not available.")
    try:
        args = _arguments(tool, call)
        answer: Answer | None = run.decisions.get(position)
        if answer is None:
            with run.interrupt.allowed("tool_preflight"):
                answer = await approval_of(run, tool, call, args)
    except Exception as error:  # noqa: BLE001 - arguments, and functions that users wrote
        run.checkpoint("tool_preflight")
        return ToolOutcome.failed(call.call_id, error)
    # Whoever was asked took their time: meanwhile the run may have been stopped.
    run.checkpoint("tool_preflight")
    if answer == "defer":
        return "waits"
    if not answer:
        return ToolOutcome.refused(call.call_id, f"Tool {call.name!r} was not approved.")
    if not run.handoff.claim(run.active.handoffs.get(call.name)):
        text = "The conversation is being handed over already."
        return ToolOutcome.refused(call.call_id, text)
    return ReadyCall(tool, args)


async def ask_ahead(run: RunState, position: int, call: ToolCallEntry) -> None:
    """Ask about a call that will not run before the run is resumed, and note the answer.

    Whoever is asked about several calls of a turn can so answer all of them.
    """
    tool = run.active.tools.get(call.name)
    if tool is None or position in run.decisions:
        return
    try:
        args = _arguments(tool, call)
        if not tool.requires_approval(args, run.ctx):
            return
        with run.interrupt.allowed("tool_preflight"):
            answer = await approval_of(run, tool, call, args)
    except Exception:  # noqa: BLE001 - the model reads it when the call is looked at for good
        run.checkpoint("tool_preflight")
        return
    if answer == "defer":
        run.waiting[position] = call.call_id
    else:
        run.decisions[position] = answer


def _arguments(tool: Tool, call: ToolCallEntry) -> dict[str, Any]:
    args = parse_arguments(call.arguments, tool=call.name)
    if tool.check is not None:
        tool.check(args)
    return args
