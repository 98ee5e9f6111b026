"""A scripted model: what it answers, what it was sent, and what happens when it runs out."""

from __future__ import annotations

import asyncio
import json

from lovia import Agent, Runner, tool
from lovia.testing import ScriptedProvider, batch, call, text


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def main() -> None:
    """Script a conversation and look at its requests."""
    provider = ScriptedProvider(
        [
            call("add", {"a": 2, "b": 3}, call_id="c1"),
            batch(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}, "mine")),
            text("5, 2 and 4.", reasoning="Sums are easy."),
        ]
    )
    agent = Agent(name="calc", instructions="Add up.", model=provider, tools=[add])
    result = await Runner.run(agent, "2+3, 1+1, 2+2?")
    print(result.output, result.turns, result.usage.total_tokens)
    for entry in result.entries:
        name = type(entry).__name__
        print(name, getattr(entry, "call_id", ""), getattr(entry, "content", ""))

    for number, sent in enumerate(provider.calls, 1):
        print(number, [message.role for message in sent])
    last = provider.calls[-1]
    print(last[0].content, "|", last[1].content, "|", last[3].content, last[3].tool_call_id)
    asked = last[4].tool_calls
    print([(c.id, c.name, json.loads(c.arguments)) for c in asked])

    plain = call("add", {"a": 1, "b": 2})
    print(plain.tool_calls[0].name, json.loads(plain.tool_calls[0].arguments), plain.content)
    print(text("hi").content, len(text("hi").tool_calls))
    *_, end = [event async for event in Runner.stream(agent, "One more?")]
    print("a script that is used up:", type(end).__name__)


asyncio.run(main())
