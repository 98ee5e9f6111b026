"""Handing the conversation over to another agent."""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lovia.errors import InvalidToolArguments, UserError
from lovia.runtime.spans import actor
from lovia.tools import Tool, parse_arguments
from lovia.transcript.entries import ToolResultEntry
from lovia_otel import logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.runtime.agent import Agent
    from lovia.runtime.run_context import RunContext
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["Handoff", "HandoffSlot", "handoff_of", "handoff_tool"]

#: Called when a handoff fires, with the arguments that the model wrote.
HandoffCallback: TypeAlias = "Callable[[dict[str, Any], RunContext[Any]], Awaitable[None] | None]"

_NAME_PREFIX: Final = "transfer_to_"
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")  # what vendors refuse in the name of a tool
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "Why the other agent should take over."}
    },
}


@dataclass(frozen=True)
class Handoff:
    """Another agent that may take over, and how the model gets to know of it.

    Attributes:
        target: The agent that takes over; it sees the whole conversation.
        name: The tool's name; ``transfer_to_`` and the target's name by default.
        description: What the model is told; names the target by default.
        on_handoff: Called as ``on_handoff(args, ctx)`` when the model asks for it: once, and not
            again when the run was stopped or killed meanwhile and is resumed.
        idempotent: Whether ``on_handoff`` may be called again. Then a resumed run does so until
            the callback has returned once, with the same ``ctx.idempotency_key`` each time.
    """

    target: Agent[Any]
    name: str | None = None
    description: str | None = None
    on_handoff: HandoffCallback | None = None
    idempotent: bool = False

    @property
    def tool_name(self) -> str:
        """The name under which the model asks for it."""
        return self.name or _NAME_PREFIX + _NO_NAME.sub("_", self.target.name)


def handoff_of(item: Any, *, source: str) -> Handoff:
    """Return an item of ``Agent.handoffs`` as a handoff.

    Raises:
        UserError: It is neither an agent nor a handoff.
    """
    if isinstance(item, Handoff):
        return item
    if hasattr(item, "handoffs") and hasattr(item, "instructions"):
        return Handoff(item)
    message = f"Agent {source!r} lists {item!r} as a handoff."
    raise UserError(message, hint="List agents, or Handoff(agent, ...).")


class HandoffSlot:
    """The handoff that has fired and is not applied yet; there is at most one.

    Attributes:
        pending: That handoff.
    """

    def __init__(self) -> None:
        self.pending: Handoff | None = None
        self._claimed: Handoff | None = None

    def claim(self, handoff: Handoff | None) -> bool:
        """Reserve the slot for a handoff that is about to fire; tells whether it was free.

        ``None`` claims nothing and is always granted.
        """
        if handoff is None:
            return True
        if self._claimed is not None:
            return False
        self._claimed = handoff
        return True

    async def fire(self, handoff: Handoff, args: dict[str, Any], ctx: RunContext[Any]) -> str:
        """Fire the handoff that holds the slot and return what the model reads."""
        if handoff.on_handoff is not None:
            outcome = handoff.on_handoff(args, ctx)
            if inspect.isawaitable(outcome):
                await outcome
        self.restore(handoff)
        source, target = ctx.agent.name, handoff.target.name
        logs.agent_handoff(source=source, target=target, pending=True, actor=actor(ctx))
        return _transferred(handoff, args)

    def fired(self, handoff: Handoff, call: ToolCallEntry) -> ToolResultEntry:
        """Take a handoff for fired whose call was interrupted, and return its result.

        Its callback has run, or was about to: it must not run again, and the target takes over all
        the same.
        """
        self.restore(handoff)
        with suppress(InvalidToolArguments):
            args = parse_arguments(call.arguments, tool=call.name)
            return ToolResultEntry(call.call_id, _transferred(handoff, args))
        return ToolResultEntry(call.call_id, _transferred(handoff, {}))

    def release(self, handoff: Handoff | None) -> None:
        """Free the slot of a handoff that failed to fire."""
        if handoff is not None and self._claimed is handoff and self.pending is None:
            self._claimed = None

    def restore(self, handoff: Handoff) -> None:
        """Make a handoff the pending one."""
        self.pending = self._claimed = handoff

    def clear(self) -> None:
        """Forget the pending handoff: it has been applied."""
        self.pending = self._claimed = None


def _transferred(handoff: Handoff, args: dict[str, Any]) -> str:
    reason = args.get("reason")
    return f"Transferred to {handoff.target.name}" + (f" ({reason})" if reason else "")


def handoff_tool(handoff: Handoff, slot: HandoffSlot) -> Tool:
    """Return the tool by which the model fires a handoff."""

    async def invoke(args: dict[str, Any], ctx: RunContext[Any]) -> str:
        return await slot.fire(handoff, args, ctx)

    target = handoff.target.name
    return Tool(
        name=handoff.tool_name,
        description=handoff.description or f"Hand the conversation over to {target}.",
        parameters=_PARAMETERS,
        invoke=invoke,
        retries=0,  # a callback that has run must not run again
    )
