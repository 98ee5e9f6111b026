"""Tools that need consent: asked on the stream, by a handler, from elsewhere; silence is a no."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text


@tool(needs_approval=True)
async def refund(cents: int) -> str:
    """Pay back."""
    return f"refunded {cents}"


@tool(needs_approval=lambda args, ctx: args.get("cents", 0) > 100)
def voucher(cents: int) -> str:
    """Give a voucher; large ones need consent."""
    return f"voucher of {cents}"


def agent(name: str, cents: int, **options: Any) -> Agent:
    """Make an agent that asks for one call and ends."""
    script = [call(name, {"cents": cents}, call_id="c1"), text("Done.")]
    return Agent(name="till", model=ScriptedProvider(script), tools=[refund, voucher], **options)


async def watch(handle: Any, decide: Any = None) -> None:
    """Print what is asked and what comes of it."""
    async for event in handle:
        if isinstance(event, events.ApprovalRequired):
            print("asked:", event.call.name, event.call.arguments, end=" ")
            if decide is not None:
                decide(event)
        elif isinstance(event, events.ToolCallStarted):
            print("started", end=" ")
        elif isinstance(event, events.ToolCallCompleted):
            print("error" if event.is_error else event.output)


async def main() -> None:
    """Ask in every way."""
    await watch(Runner.stream(agent("refund", 5), "go"), lambda event: event.approve())
    await watch(Runner.stream(agent("refund", 5), "go"), lambda event: event.reject())
    await watch(Runner.stream(agent("refund", 5), "go"))
    await watch(Runner.stream(agent("voucher", 5), "go"))
    await watch(Runner.stream(agent("voucher", 500), "go"), lambda event: event.approve())

    handle = Runner.stream(agent("refund", 7), "go")
    await watch(handle, lambda event: handle.approvals.approve(event.call.id))
    handle = Runner.stream(agent("refund", 7), "go")
    await watch(handle, lambda event: handle.approvals.reject(event.call.id))

    async def handler(asked: Any, ctx: RunContext[Any]) -> bool:
        print("handler:", asked.name, asked.arguments, ctx.deps, end=" ")
        return ctx.deps == "trusted"

    for deps in ("trusted", "stranger"):
        await watch(Runner.stream(agent("refund", 9, approval_handler=handler), "go", deps=deps))
    result = await Runner.run(agent("refund", 9), "go")
    print(result.output, [getattr(entry, "is_error", None) for entry in result.entries])


asyncio.run(main())
