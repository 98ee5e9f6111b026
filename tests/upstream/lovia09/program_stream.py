"""A stream, event by event, and the ways to its result."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import Any

from lovia import Agent, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text


@tool
def depth(place: str) -> str:
    """Tell how deep the water is."""
    return "11 m"


def agent(**options: Any) -> Agent:
    """Make an agent that thinks, looks something up and answers."""
    script = [
        call("depth", {"place": "quay"}, call_id="c1"),
        text("Eleven metres.", reasoning="Easy."),
    ]
    return Agent(name="pilot", model=ScriptedProvider(script), tools=[depth], **options)


async def main() -> None:
    """Print the order of events, without how finely text is streamed."""
    handle = Runner.stream(agent(), "How deep?")
    seen: list[events.Event] = [event async for event in handle]
    for kind, group in groupby(seen, key=type):
        texts = [e.delta for e in group if isinstance(e, (events.TextDelta, events.ReasoningDelta))]
        print(kind.__name__, repr("".join(texts)) if texts else "")
    turns = [e.turn for e in seen if isinstance(e, (events.TurnStarted, events.TurnEnded))]
    print("turns:", turns)
    for event in seen:
        if isinstance(event, events.MessageCompleted):
            print("message:", [type(entry).__name__ for entry in event.entries])
        elif isinstance(event, (events.ToolCallStarted, events.ToolCallCompleted)):
            print(event.call.id, event.call.name, event.call.arguments)
        elif isinstance(event, events.RunCompleted):
            print("the same result:", event.result is await handle.result())

    print((await Runner.stream(agent(), "How deep?")).output)
    print((await Runner.stream(agent(), "How deep?").result()).output)
    print((await agent().stream("How deep?")).output)
    print((await agent().run("How deep?")).output)


asyncio.run(main())
