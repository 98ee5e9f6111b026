"""Stopping a run: by token, by handle, from a tool, before it begins."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import (
    Agent,
    CancelToken,
    CheckpointOptions,
    InMemoryCheckpointer,
    RunCancelled,
    RunContext,
    Runner,
    events,
    tool,
)
from lovia.testing import ScriptedProvider, batch, call, text

done: list[str] = []


@tool
async def work(name: str, seconds: float = 0.0) -> str:
    """Work for a while."""
    await asyncio.sleep(seconds)
    done.append(name)
    return name


@tool
def stop(ctx: RunContext[Any]) -> str:
    """Ask the run to stop."""
    ctx.cancel_token.cancel("seen enough")
    return "stopping"


def worker(*turns: Any) -> Agent:
    """Make an agent whose model does this."""
    return Agent(name="a", model=ScriptedProvider(list(turns)), tools=[work, stop])


async def main() -> None:
    """Stop in every way, and go on after one of them."""
    token = CancelToken()
    token.check()
    print("cancelled:", token.is_cancelled)
    token.cancel("not today")
    try:
        token.check()
    except RunCancelled:
        print("check() raises")
    try:
        await Runner.run(worker(text("x")), "go", cancel_token=token)
    except RunCancelled:
        print("cancelled before it began")

    store = InMemoryCheckpointer()
    where = CheckpointOptions(store, "r1")
    agent = worker(call("work", {"name": "one"}), call("stop", {}), text("finished"))
    try:
        await Runner.run(agent, "go", checkpoint=where)
    except RunCancelled:
        print("cancelled by a tool after", done)
    print((await Runner.run(agent, "go", checkpoint=where)).output, done)

    done.clear()
    slow = worker(batch(("work", {"name": "quick"}), ("work", {"name": "slow", "seconds": 60})))
    handle = Runner.stream(slow, "go")
    async for event in handle:
        if isinstance(event, events.ToolCallCompleted) and event.call.arguments.count("quick"):
            handle.cancel("user left")
        elif isinstance(event, events.RunFailed):
            print(type(event.error).__name__, done)
    try:
        await handle.result()
    except RunCancelled as error:
        print("result() raises", isinstance(error, RunCancelled))

    async for event in Runner.stream(worker(text("never read")), "go"):
        print("left at", type(event).__name__)
        break


asyncio.run(main())
