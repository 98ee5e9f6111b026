"""Asking somebody before a tool runs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lovia.errors import UserError
from lovia.events import ApprovalRequired, ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.runtime.run_context import RunContext
    from lovia.runtime.state import RunState
    from lovia.tools import Tool
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["ApprovalChannel", "ApprovalDecision", "ApprovalHandler", "is_approved"]

#: A decision; ``ask`` passes the question on to the run's stream and hooks.
ApprovalDecision: TypeAlias = 'bool | Literal["allow", "deny", "ask"]'
#: ``handler(call, ctx)`` decides before anybody else is asked.
ApprovalHandler: TypeAlias = (
    "Callable[[ToolCall, RunContext[Any]], ApprovalDecision | Awaitable[ApprovalDecision]]"
)


class ApprovalChannel:
    """The open questions of a run, by the id of the call; answers may come from anywhere.

    ``scope`` keeps apart the runs that share one channel.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, str], bool | None] = {}

    def register(self, call_id: str, *, scope: str | None = None) -> None:
        """Open a question."""
        self._open[scope, call_id] = None

    def approve(self, call_id: str, *, scope: str | None = None) -> None:
        """Allow a call; does nothing when it is not asked about."""
        self.resolve(call_id, True, scope=scope)  # noqa: FBT003 - the decision

    def reject(self, call_id: str, *, scope: str | None = None) -> None:
        """Refuse a call; does nothing when it is not asked about."""
        self.resolve(call_id, False, scope=scope)  # noqa: FBT003 - the decision

    def resolve(
        self,
        call_id: str,
        decision: bool,  # noqa: FBT001 - the decision is what is told
        *,
        scope: str | None = None,
    ) -> bool:
        """Answer a question; tells whether it was open. The first answer counts."""
        key = (scope, call_id)
        if key not in self._open or self._open[key] is not None:
            return False
        self._open[key] = decision
        return True

    def is_pending(self, call_id: str, *, scope: str | None = None) -> bool:
        """Tell whether a question is open and not answered."""
        key = (scope, call_id)
        return key in self._open and self._open[key] is None

    def release(self, *, scope: str | None = None, decision: bool = False) -> None:
        """Answer every open question of a scope."""
        for key, answer in self._open.items():
            if key[0] == scope and answer is None:
                self._open[key] = decision

    def discard(self, call_id: str, *, scope: str | None = None) -> bool | None:
        """Close a question and return its answer, ``None`` when there was none."""
        return self._open.pop((scope, call_id), None)


async def is_approved(run: RunState, tool: Tool, call: ToolCallEntry, args: dict[str, Any]) -> bool:
    """Find out whether a call may run: by its tool, the agent's handler, or whoever listens.

    A question that nobody has answered when everybody has heard it is a no, so that no run hangs.

    Raises:
        UserError: A handler decided on something that is no decision.
    """
    if not tool.requires_approval(args, run.ctx):
        return True
    shown = ToolCall.of(call)
    handler = run.active.agent.approval_handler
    if handler is not None:
        decision: Any = handler(shown, run.ctx)
        decision = await decision if inspect.isawaitable(decision) else decision
        if isinstance(decision, bool):
            return decision
        if decision in ("allow", "deny"):
            return bool(decision == "allow")
        if decision != "ask":
            message = f"The approval handler decided {decision!r} on {call.name!r}."
            raise UserError(message, hint='Decide True, False, "allow", "deny" or "ask".')
    channel = run.control.approvals
    channel.register(call.call_id)
    try:
        await run.emitter.emit(ApprovalRequired(shown, channel))
    finally:
        answer = channel.discard(call.call_id)
    return answer is True
