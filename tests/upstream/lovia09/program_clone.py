"""Agents are configuration: copies differ in what was asked for, and share nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, ModelSettings, RetryPolicy, RunContext, Runner, tool
from lovia.testing import ScriptedProvider, text


@tool
def ping() -> str:
    """Ping."""
    return "pong"


async def prompt_of(agent: Agent) -> Any:
    """Return the system prompt that a run of this agent sends."""
    provider = ScriptedProvider([text("x")])
    await Runner.run(agent.clone(model=provider), "?")
    return provider.calls[0][0].content


async def main() -> None:
    """Clone, and change the original afterwards."""
    base = Agent(
        name="base",
        instructions="Be calm.",
        model=ScriptedProvider([text("from the base")]),
        tools=[ping],
        settings=ModelSettings(temperature=0.1),
        retry=RetryPolicy(max_attempts=2),
    )

    @base.instruction
    def before(ctx: RunContext[Any]) -> str:
        return "Registered before."

    copy = base.clone(name="copy", tools=[])

    @base.instruction
    def after(ctx: RunContext[Any]) -> str:
        return "Registered after."

    print(copy.name, copy.tools, base.name, [t.name for t in base.tools])
    print(copy.settings.temperature, copy.retry is base.retry, copy.model is base.model)
    print(await prompt_of(base))
    print(await prompt_of(copy))

    added = copy.with_instructions(lambda ctx: f"You are {ctx.agent.name}.")
    print(await prompt_of(added))
    print("unchanged:", await prompt_of(copy))
    print((await base.run("hello")).output)
    defaults = Agent(name="defaults")
    print(
        defaults.output_type is str, defaults.max_tool_output_chars, defaults.default_tool_retries
    )


asyncio.run(main())
