"""Calls that go wrong: the run goes on, the model reads why, and events tell it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from lovia import Agent, InvalidToolArguments, Runner, ToolError, events, tool
from lovia.testing import ScriptedProvider, call, text


@tool
def divide(a: int, b: Annotated[int, Field(le=100)]) -> float:
    """Divide."""
    return a / b


@tool
def refuse() -> str:
    """Refuse."""
    raise ToolError("The vault is closed.", hint="Come back on Monday.")


async def main() -> None:
    """Let each call fail in a turn of its own."""
    script = [
        call("divide", {"a": 1, "b": 0}, call_id="zero"),
        call("refuse", {}, call_id="refused"),
        call("divide", {"a": "one", "b": 1}, call_id="mistyped"),
        call("divide", {"a": 1, "b": 101}, call_id="out of bounds"),
        call("divide", {"b": 1}, call_id="incomplete"),
        call("multiply", {"a": 1}, call_id="unknown"),
        call("divide", {"a": 6, "b": 3}, call_id="fine"),
        text("Two."),
    ]
    agent = Agent(name="clerk", model=ScriptedProvider(script), tools=[divide, refuse])
    started = set()
    async for event in Runner.stream(agent, "Divide."):
        if isinstance(event, events.ToolCallStarted):
            started.add(event.call.id)
        elif isinstance(event, events.ToolCallFailed):
            assert event.call is not None
            print(f"{event.call.id}: {type(event.error).__name__}")
            if isinstance(event.error, InvalidToolArguments):
                print("    names the argument:", any(f"{n}:" in str(event.error) for n in "ab"))
        elif isinstance(event, events.ToolCallCompleted):
            print(f"    is_error={event.is_error} says why={len(event.output) > len('Tool error')}")
        elif isinstance(event, events.RunCompleted):
            print(event.result.output, event.result.turns, "turns")
    print("not run:", {"unknown"} - started)


asyncio.run(main())
