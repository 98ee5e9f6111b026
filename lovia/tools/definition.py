"""What a model can ask for: a tool."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from lovia.errors import InvalidToolArguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from lovia.runtime.run_context import RunContext

__all__ = [
    "ApprovalPredicate",
    "Tool",
    "ToolInvoker",
    "ToolPolicy",
    "ToolResultRenderer",
    "parse_arguments",
]

#: Runs a tool: validated or raw arguments, and the run's context.
ToolInvoker: TypeAlias = "Callable[[dict[str, Any], RunContext[Any]], Awaitable[Any]]"
#: Turns what a tool returned into the text that the model reads.
ToolResultRenderer: TypeAlias = "Callable[[Any, RunContext[Any]], str | Awaitable[str]]"

#: Decides by a call's arguments whether somebody is asked before it runs.
ApprovalPredicate: TypeAlias = "Callable[[dict[str, Any], RunContext[Any]], bool]"

_SHOWN = 200  # characters of a malformed argument text that an error message quotes


class ToolPolicy(Protocol):
    """Behaviour around one attempt of a tool: caching, rate limits, redaction, other arguments.

    The runner's own retries and timeout go around the whole chain.
    """

    async def __call__(
        self, invoke: ToolInvoker, args: dict[str, Any], ctx: RunContext[Any], /
    ) -> Any:
        """Call ``invoke`` with these or other arguments, or answer without it."""
        ...


@dataclass(frozen=True)
class Tool:
    """Something a model can ask for.

    Attributes:
        name: What the model calls it.
        description: What the model is told about it.
        parameters: JSON schema of the arguments object.
        invoke: Runs it: ``await invoke(args, ctx)``.
        needs_approval: Whether somebody is asked before it runs; a function ``(args, ctx)`` decides
            by the arguments.
        retries: Further attempts after a failure; ``None`` takes the agent's default.
        timeout: Seconds that one attempt may take; ``None`` takes the agent's default.
        max_output_chars: Characters of the result that the transcript keeps; ``None`` takes the
            agent's limit.
        result_renderer: Turns the returned value into text; ``None`` takes the agent's.
        policies: Wrapped around each attempt, the first one outermost.
        parallel: Whether it may run beside other calls of the same turn. ``False`` makes it a
            barrier: calls before it finish first, then it runs alone.
        strict: Whether the provider should hold the model to the schema.
        check: Refuses arguments before the call is dispatched, by raising
            :class:`~lovia.errors.InvalidToolArguments`.
        in_thread: Whether it runs in a worker thread, which goes on when the call is interrupted.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    invoke: ToolInvoker
    needs_approval: bool | ApprovalPredicate = False
    retries: int | None = None
    timeout: float | None = None
    max_output_chars: int | None = None
    result_renderer: ToolResultRenderer | None = None
    policies: Sequence[ToolPolicy] = ()
    parallel: bool = True
    strict: bool = False
    check: Callable[[Mapping[str, Any]], object] | None = None
    in_thread: bool = False

    def openai_schema(self) -> dict[str, Any]:
        """Return the function schema that goes into a request."""
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        if self.strict:
            function["strict"] = True
        return {"type": "function", "function": function}

    def requires_approval(self, args: dict[str, Any], ctx: RunContext[Any]) -> bool:
        """Tell whether somebody has to be asked before it runs with these arguments."""
        needed = self.needs_approval
        return bool(needed(args, ctx)) if callable(needed) else needed

    async def attempt(self, args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        """Run it once, inside its policies, and return what it returned."""
        invoke = self.invoke
        for policy in reversed(self.policies):
            invoke = partial(policy, invoke)
        return await invoke(args, ctx)


def parse_arguments(text: str, *, tool: str) -> dict[str, Any]:
    """Read the JSON text that a model wrote as a call's arguments; blank text means no arguments.

    Raises:
        InvalidToolArguments: The text is no JSON object.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"Invalid JSON in the arguments of tool {tool!r}: {error} in {text[:_SHOWN]!r}"
        raise InvalidToolArguments(message, tool=tool) from error
    if not isinstance(value, dict):
        message = f"The arguments of tool {tool!r} must be a JSON object, not {text[:_SHOWN]!r}"
        raise InvalidToolArguments(message, tool=tool)
    return value
