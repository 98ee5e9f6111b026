"""An agent asked by another one, which reads the answer and goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel

from lovia import Agent, MaxTurnsExceeded, RunBudget, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, batch, call, text


class Finding(BaseModel):
    """What was found out."""

    fact: str


@dataclass
class Deps:
    """What the caller lends to tools."""

    library: dict[str, str]


@tool
def look_up(ctx: RunContext[Deps], topic: str) -> str:
    """Look a topic up."""
    assert ctx.deps is not None
    return ctx.deps.library[topic]


async def main() -> None:
    """Ask a researcher, a writer with a typed answer, and one that never comes to an end."""
    research = ScriptedProvider([call("look_up", {"topic": "tides"}), text("The moon does it.")])
    researcher = Agent(name="researcher", model=research, tools=[look_up])
    typed = Agent(
        name="typist", model=ScriptedProvider([text('{"fact": "moon"}')]), output_type=Finding
    )
    endless = Agent(
        name="endless",
        model=ScriptedProvider([call("look_up", {"topic": "tides"})] * 5),
        tools=[look_up],
    )
    tools = [
        researcher.as_tool(description="Research a topic.", budget=RunBudget(max_tool_calls=3)),
        typed.as_tool(name="type_it"),
        endless.as_tool(name="wait_for_it", max_turns=2),
    ]
    print([t.name for t in tools], tools[0].description, list(tools[0].parameters["properties"]))
    script = [
        call(tools[0].name, {"input": "Why tides?"}),
        batch(("type_it", {"input": "Type."}), ("wait_for_it", {"input": "Wait."})),
        text("Because of the moon."),
    ]
    manager = Agent(name="manager", model=ScriptedProvider(script), tools=tools)
    deps = Deps({"tides": "moon"})
    outputs, failures = {}, []
    async for event in Runner.stream(manager, "Why are there tides?", deps=deps):
        if isinstance(event, events.ToolCallCompleted) and not event.is_error:
            outputs[event.call.name] = event.output
        elif isinstance(event, events.ToolCallFailed):
            failures.append(isinstance(event.error, MaxTurnsExceeded))
        elif isinstance(event, events.RunCompleted):
            print(event.result.output, event.result.turns, event.result.usage.total_tokens)
    print(sorted(outputs.items()), failures)
    print("the task alone:", [entry.content for entry in research.calls[0]])


asyncio.run(main())
