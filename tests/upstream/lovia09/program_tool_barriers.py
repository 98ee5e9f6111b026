"""Calls of one turn run side by side, except where a tool asks to run alone."""

from __future__ import annotations

import asyncio

from lovia import Agent, Runner, tool
from lovia.testing import ScriptedProvider, batch, text
from lovia.transcript import ToolResultEntry

log: list[str] = []
running: set[str] = set()


async def _work(name: str) -> str:
    running.add(name)
    log.append(f"{name} beside {sorted(running - {name})}")
    await asyncio.sleep(0.05)
    running.remove(name)
    return name


@tool
async def read(name: str) -> str:
    """Read something; may run beside others."""
    return await _work(name)


@tool(parallel=False)
async def migrate(name: str) -> str:
    """Change something; runs alone."""
    return await _work(name)


async def main() -> None:
    """Ask for two reads, one change and two more reads at once."""
    specs = [("read", "a"), ("read", "b"), ("migrate", "m"), ("read", "c"), ("read", "d")]
    calls = batch(*[(name, {"name": key}, f"id-{key}") for name, key in specs])
    agent = Agent(
        name="dba", model=ScriptedProvider([calls, text("All done.")]), tools=[read, migrate]
    )
    result = await Runner.run(agent, "Migrate.")
    print("\n".join(log))
    results = [entry for entry in result.entries if isinstance(entry, ToolResultEntry)]
    print(sorted((entry.call_id, entry.output) for entry in results))


asyncio.run(main())
