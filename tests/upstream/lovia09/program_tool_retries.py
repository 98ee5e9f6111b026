"""Tools that are tried again, and tools that take too long."""

from __future__ import annotations

import asyncio

from lovia import Agent, InvalidToolArguments, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text

attempts: list[str] = []


@tool(retries=2)
async def flaky(name: str) -> str:
    """Work at the third attempt."""
    attempts.append(name)
    if attempts.count(name) < 3:
        raise ConnectionError("not yet")
    return f"{name} at attempt {attempts.count(name)}"


@tool
async def unsure(name: str) -> str:
    """Work at the second attempt, which the agent has to allow."""
    attempts.append(name)
    if attempts.count(name) < 2:
        raise ConnectionError("not yet")
    return "allowed by the agent"


@tool(timeout=0.05, retries=0)
async def slow() -> str:
    """Take far too long."""
    attempts.append("slow")
    await asyncio.sleep(60)
    return "never"


@tool(retries=3)
async def picky(number: int) -> str:
    """Check the argument itself."""
    attempts.append("picky")
    raise InvalidToolArguments("only primes")


async def main() -> None:
    """Print how often each was tried, and what came of it."""
    script = [
        call("flaky", {"name": "a"}),
        call("unsure", {"name": "b"}),
        call("slow", {}),
        call("picky", {"number": 4}),
        text("Done."),
    ]
    agent = Agent(
        name="patient",
        model=ScriptedProvider(script),
        tools=[flaky, unsure, slow, picky],
        default_tool_retries=1,
        default_tool_timeout=30,
    )
    async for event in Runner.stream(agent, "Go on."):
        if isinstance(event, events.ToolCallCompleted):
            print(event.call.name, event.is_error, event.result if not event.is_error else "")
        elif isinstance(event, events.ToolCallFailed):
            print("failed:", isinstance(event.error, Exception), event.call is not None)
    print({name: attempts.count(name) for name in ("a", "b", "slow", "picky")})


asyncio.run(main())
