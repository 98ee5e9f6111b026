"""Running one tool call: attempts, timeout, rendering, and what is told about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from lovia import events
from lovia.errors import InvalidToolArguments, RunCancelled, ToolError
from lovia.runtime.run_context import calling
from lovia.runtime.tool_result import ToolOutcome, render
from lovia.transcript.entries import text_of
from lovia_otel import ToolScope, tool_scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.runtime.state import RunState
    from lovia.tools import Tool
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["run_tool", "tell_completed"]


async def run_tool(
    run: RunState,
    tool: Tool,
    call: ToolCallEntry,
    args: dict[str, Any],
    *,
    key: str,
    begin: Callable[[], Awaitable[None]],
    take: Callable[[ToolOutcome], None],
) -> ToolOutcome:
    """Run a tool to its outcome; a failure is an outcome too.

    Args:
        run: The run.
        tool: The tool.
        call: The call.
        args: Its arguments.
        key: Its idempotency key.
        begin: Called immediately before the tool is invoked.
        take: Called with the outcome as soon as there is one.

    Raises:
        RunCancelled: The run was asked to stop; the tool was interrupted.
    """
    shown = events.ToolCall.of(call)
    with tool_scope(tool=tool.name, call_id=call.call_id, agent=run.active.agent.name) as scope:
        await run.emitter.emit(events.ToolCallStarted(shown))
        with run.interrupt.allowed("turn"):
            await begin()
            with calling(run.ctx, key):
                outcome = await _outcome(run, tool, call, args)
            take(outcome)
        _tell_handoff(run, tool, scope)
        scope.settle(
            result_tokens=await anyio.to_thread.run_sync(run.log.tokens_of, outcome.entry),
            truncated=outcome.truncated,
            error_type=type(outcome.error).__qualname__ if outcome.error else None,
        )
        scope.content(
            tool_arguments=lambda: call.arguments, tool_result=lambda: outcome.entry.output
        )
    return outcome


def _tell_handoff(run: RunState, tool: Tool, scope: ToolScope) -> None:
    """Say on the call's span where it hands over to, if it does."""
    fired = run.handoff.pending
    if fired is not None and fired.tool_name == tool.name:
        source, target = run.active.agent.name, fired.target.name
        scope.handoff(source=source, target=target, pending=True)


async def tell_completed(run: RunState, call: ToolCallEntry, outcome: ToolOutcome) -> None:
    """Tell how a call ended."""
    shown = events.ToolCall.of(call)
    if outcome.error is not None:
        await run.emitter.emit(events.ToolCallFailed(outcome.error, shown))
    await run.emitter.emit(
        events.ToolCallCompleted(
            shown,
            result=outcome.value,
            is_error=outcome.entry.is_error,
            output=text_of(outcome.entry),
        )
    )


async def _outcome(
    run: RunState, tool: Tool, call: ToolCallEntry, args: dict[str, Any]
) -> ToolOutcome:
    agent = run.active.agent
    cap = agent.max_tool_output_chars if tool.max_output_chars is None else tool.max_output_chars
    try:
        value = await _attempts(run, tool, args)
        return await render(
            call.call_id,
            value,
            renderer=tool.result_renderer or agent.tool_result_renderer,
            ctx=run.ctx,
            cap=cap,
        )
    except RunCancelled as error:
        if run.ctx.cancel_token.is_cancelled:
            raise
        return ToolOutcome.failed(call.call_id, error, cap=cap)
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is the model's to read
        return ToolOutcome.failed(call.call_id, error, cap=cap)


async def _attempts(run: RunState, tool: Tool, args: dict[str, Any]) -> Any:
    """Attempt the tool until it works or its retries are spent."""
    agent = run.active.agent
    retries = agent.default_tool_retries if tool.retries is None else tool.retries
    timeout = agent.default_tool_timeout if tool.timeout is None else tool.timeout
    while True:
        try:
            # Each attempt has its own arguments: one that edits them must not mislead the next.
            return await _attempt(run, tool, dict(args), timeout)
        except (InvalidToolArguments, RunCancelled):
            raise
        except Exception:
            if retries <= 0:
                raise
            retries -= 1
            run.checkpoint("tool_preflight")


async def _attempt(run: RunState, tool: Tool, args: dict[str, Any], limit: float | None) -> Any:
    with anyio.move_on_after(limit) as scope:
        return await tool.attempt(args, run.ctx)
    if scope.cancelled_caught:
        raise ToolError(f"{tool.name} took longer than {limit:g} seconds.", tool=tool.name)
    return None
