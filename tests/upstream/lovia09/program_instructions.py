"""The system prompt: text, functions, pieces, and what one run adds."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, RunContext, Runner, tool
from lovia.testing import ScriptedProvider, call, text

seen: list[str] = []


@tool
def show(ctx: RunContext[Any]) -> str:
    """Note the prompt that this run was given."""
    seen.append(ctx.system_prompt)
    return "shown"


async def main() -> None:
    """Build a prompt in every way, and look at what is sent."""
    provider = ScriptedProvider([call("show", {}), text("a"), text("b"), text("c")])
    agent = Agent(name="guide", instructions="Be kind.", model=provider, tools=[show])

    @agent.instruction
    async def tier(ctx: RunContext[Any]) -> str:
        await asyncio.sleep(0)
        return f"Tier: {ctx.deps}." if ctx.deps else ""

    @agent.instruction
    def name(ctx: RunContext[Any]) -> str:
        return f"You are {ctx.agent.name}."

    await Runner.run(agent, "?", deps="gold", extra_instructions="Today it rains.")
    await Runner.run(agent, "?", extra_instructions=lambda ctx: f"Deps: {ctx.deps}.")
    bare = Agent(name="bare", model=provider)
    await Runner.run(bare, "?")
    for sent in provider.calls:
        first = sent[0]
        print(repr(first.content) if first.role == "system" else "no prompt")
    print(seen == [provider.calls[0][0].content])

    async def dynamic(ctx: RunContext[Any]) -> str:
        return f"Made for {ctx.session_id}."

    provider = ScriptedProvider([text("d")])
    agent = Agent(name="e", instructions=dynamic, model=provider)
    await Runner.run(agent, "?", session_id="s1")
    print(provider.calls[0][0].content)


asyncio.run(main())
