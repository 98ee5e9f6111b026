"""A capability as one piece: tools, prompt, hooks, guardrails, views and an end."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, AgentHooks, Plugin, PluginInstance, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import InputEntry


class Logbook:
    """Lets the model write lines, shows them to it each turn, and says how many there were."""

    name = "logbook"

    async def setup(self, ctx: RunContext[Any]) -> PluginInstance:
        """Make a logbook for one run."""
        lines: list[str] = []
        hooks = AgentHooks()
        print("set up for", ctx.agent.name, ctx.session_id)

        @tool
        def write(line: str) -> str:
            """Write a line."""
            lines.append(line)
            return "written"

        @hooks.on(events.ToolCallCompleted)
        def note(ev: events.ToolCallCompleted, ctx: RunContext[Any]) -> None:
            print("hook:", ev.call.name)

        def show(ctx: RunContext[Any]) -> list[Any]:
            return [InputEntry(role="user", content=f"Log: {lines}")]

        async def written(output: Any, ctx: RunContext[Any]) -> str | None:
            return None if lines else "nothing was written"

        async def close() -> None:
            print("closed with", lines)

        return PluginInstance(
            tools=[write],
            instructions="Keep a log.",
            view_injectors=[show],
            hooks=hooks,
            output_guardrails=[written],
            aclose=close,
        )


async def main() -> None:
    """Run with the plugin; its view is sent and never recorded."""
    provider = ScriptedProvider([call("write", {"line": "fair wind"}), text("Logged.")])
    plugin: Plugin = Logbook()
    agent = Agent(name="mate", instructions="Sail.", model=provider, plugins=[plugin])
    result = await Runner.run(agent, "Log the wind.", session_id="s1")
    print(result.output, [type(entry).__name__ for entry in result.entries])
    for sent in provider.calls:
        print(repr(sent[0].content), "...", sent[-1].content)


asyncio.run(main())
