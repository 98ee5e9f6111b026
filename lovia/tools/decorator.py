"""The decorator that makes a tool of a function."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import anyio.to_thread

from lovia.errors import UserError
from lovia.tools.definition import Tool
from lovia.tools.docstrings import read_docstring
from lovia.tools.schema import FunctionArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from lovia.runtime.run_context import RunContext
    from lovia.tools.definition import (
        ApprovalPredicate,
        ToolInvoker,
        ToolPolicy,
        ToolResultRenderer,
    )

__all__ = ["tool"]


@overload
def tool(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool | ApprovalPredicate = False,
    retries: int | None = None,
    timeout: float | None = None,
    max_output_chars: int | None = None,
    result_renderer: ToolResultRenderer | None = None,
    policies: Sequence[ToolPolicy] = (),
    parallel: bool = True,
    strict: bool = False,
) -> Tool: ...


@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool | ApprovalPredicate = False,
    retries: int | None = None,
    timeout: float | None = None,
    max_output_chars: int | None = None,
    result_renderer: ToolResultRenderer | None = None,
    policies: Sequence[ToolPolicy] = (),
    parallel: bool = True,
    strict: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool = False,
    **options: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function; use it bare or with keyword arguments.

    The schema comes from the type hints, by pydantic; parameter descriptions from
    ``Annotated[str, "text"]``, a pydantic ``Field`` or the docstring. A first parameter annotated
    ``RunContext`` receives the run's context. Functions that are not async run in a worker thread.

    Args:
        fn: The function.
        name: What the model calls it; the function's name by default.
        description: What the model is told; the docstring up to its first section by default.
        strict: Require every argument and forbid all others, as vendors' strict modes demand.
        options: Further fields of :class:`Tool`: ``needs_approval``, ``retries``, ``timeout``,
            ``max_output_chars``, ``result_renderer``, ``policies``, ``parallel``.

    Raises:
        UserError: A parameter cannot be described to a model.
    """
    names = _names_in_scope(inspect.currentframe())

    def make(function: Any) -> Tool:
        if not callable(function):
            message = f"@tool decorates a function, not {function!r}."
            raise UserError(message, hint="Pass options by keyword.")
        title = name or _name_of(function)
        if title == "<lambda>":
            raise UserError("A lambda has no name.", hint="Name the tool: tool(fn, name=...).")
        arguments = FunctionArguments.of(function, tool=title, strict=strict, local_names=names)
        return Tool(
            name=title,
            description=_description_of(function) if description is None else description,
            parameters=arguments.schema,
            invoke=_invoker(function, arguments),
            strict=strict,
            check=arguments.bind,
            in_thread=not _is_async(function),
            **options,
        )

    return make if fn is None else make(fn)


def _names_in_scope(frame: FrameType | None) -> dict[str, Any]:
    """Return the local names of whoever called the function whose frame this is."""
    caller = frame.f_back if frame is not None else None
    return dict(caller.f_locals) if caller is not None else {}


def _description_of(function: Callable[..., Any]) -> str:
    return read_docstring(_plain(function).__doc__).description


def _plain(function: Callable[..., Any]) -> Any:
    """Return what a partial or a decorated function calls in the end."""
    return inspect.unwrap(getattr(function, "func", function))


def _name_of(function: Callable[..., Any]) -> str:
    plain = _plain(function)
    return str(getattr(plain, "__name__", type(plain).__name__))


def _is_async(function: Callable[..., Any]) -> bool:
    plain = _plain(function)
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(
        getattr(plain, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


def _invoker(function: Callable[..., Any], arguments: FunctionArguments) -> ToolInvoker:
    is_async = _is_async(function)

    async def invoke(args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        positional, named = arguments.bind(args)
        if arguments.takes_context:
            positional.insert(0, ctx)
        call = partial(function, *positional, **named)
        # A thread cannot be stopped: when the run is cancelled or the attempt times out, the thread
        # is left to itself and its result is dropped.
        result = (
            call() if is_async else await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        )
        return await result if inspect.isawaitable(result) else result

    return invoke
