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

__all__ = ["Answer", "ApprovalChannel", "ApprovalDecision", "ApprovalHandler", "approval_of"]

#: An answer: yes, no, or later, in the run as it is resumed.
Answer: TypeAlias = 'bool | Literal["defer"]'
#: A decision; ``ask`` leaves it to those who were asked before, so that the answer is no.
ApprovalDecision: TypeAlias = 'bool | Literal["allow", "deny", "ask", "defer"]'
#: ``handler(call, ctx)`` decides when neither the reader of the stream nor a hook has.
ApprovalHandler: TypeAlias = (
    "Callable[[ToolCall, RunContext[Any]], ApprovalDecision | Awaitable[ApprovalDecision]]"
)
_ANSWERS: dict[Any, Answer] = {
    True: True,
    False: False,
    "allow": True,
    "deny": False,
    "ask": False,
    "defer": "defer",
}


class ApprovalChannel:
    """The open questions of a run, by the id of the call; answers may come from anywhere.

    ``scope`` keeps apart the runs that share one channel.

    Args:
        can_defer: Whether the run is saved, so that an answer can be left for later.
    """

    def __init__(self, *, can_defer: bool = False) -> None:
        self._open: dict[tuple[str | None, str], Answer | None] = {}
        self._can_defer = can_defer

    def register(self, call_id: str, *, scope: str | None = None) -> None:
        """Open a question."""
        self._open[scope, call_id] = None

    def approve(self, call_id: str, *, scope: str | None = None) -> None:
        """Allow a call; does nothing when it is not asked about."""
        self.resolve(call_id, True, scope=scope)  # noqa: FBT003 - the decision

    def reject(self, call_id: str, *, scope: str | None = None) -> None:
        """Refuse a call; does nothing when it is not asked about."""
        self.resolve(call_id, False, scope=scope)  # noqa: FBT003 - the decision

    def defer(self, call_id: str, *, scope: str | None = None) -> None:
        """Leave the answer for later: the run is saved and suspended until it is resumed.

        Raises:
            UserError: The run has no checkpointer, so it could not be resumed.
        """
        if not self._can_defer:
            message = f"The approval of call {call_id!r} cannot be deferred: the run is not saved."
            hint = "Pass checkpoint=CheckpointOptions(checkpointer, run_id), or approve or reject."
            raise UserError(message, hint=hint)
        self.resolve(call_id, "defer", scope=scope)

    def resolve(self, call_id: str, decision: Answer, *, scope: str | None = None) -> bool:
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

    def discard(self, call_id: str, *, scope: str | None = None) -> Answer | None:
        """Close a question and return its answer, ``None`` when there was none."""
        return self._open.pop((scope, call_id), None)


async def approval_of(
    run: RunState, tool: Tool, call: ToolCallEntry, args: dict[str, Any]
) -> Answer:
    """Find out whether a call may run: by its tool, by whoever listens, or the agent's handler.

    A question that nobody has answered when everybody has heard it is a no, so that no run hangs.

    Raises:
        UserError: A handler decided on something that is no decision.
    """
    if not tool.requires_approval(args, run.ctx):
        return True
    shown = ToolCall.of(call)
    channel = run.control.approvals
    channel.register(call.call_id)
    try:
        await run.emitter.emit(ApprovalRequired(shown, channel))
    finally:
        answer = channel.discard(call.call_id)
    handler = run.active.agent.approval_handler
    if answer is None and handler is not None:
        decision: Any = handler(shown, run.ctx)
        answer = _answer_of(
            run, shown, await decision if inspect.isawaitable(decision) else decision
        )
    return False if answer is None else answer


def _answer_of(run: RunState, call: ToolCall, decision: Any) -> Answer:
    """Return what a handler decided as an answer."""
    answer = _ANSWERS.get(decision) if isinstance(decision, (bool, str)) else None
    if answer is None:
        message = f"The approval handler decided {decision!r} on {call.name!r}."
        raise UserError(message, hint='Decide True, False, "allow", "deny", "ask" or "defer".')
    if answer == "defer":
        run.control.approvals.defer(call.id)  # an error where the run is not saved
    return answer
