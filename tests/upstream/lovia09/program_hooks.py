"""Observers: of one kind of event, of several, of all; a broken one changes nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from lovia import Agent, AgentHooks, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text

logging.getLogger("lovia").addHandler(logging.NullHandler())
logging.getLogger("lovia").propagate = False
hooks = AgentHooks()
log: list[str] = []


@hooks.on(events.ToolCallStarted)
async def before(ev: events.ToolCallStarted, ctx: RunContext[Any]) -> None:
    """Note the call and what the run knows of itself."""
    log.append(f"{ev.call.name}{ev.call.arguments} turn {ctx.turn} session {ctx.session_id}")


@hooks.on((events.RunStarted, events.RunCompleted))
def edges(ev: events.Event, ctx: RunContext[Any]) -> None:
    """Note beginning and end."""
    log.append(
        f"{type(ev).__name__} {ctx.agent.name} {ctx.usage.total_tokens} {len(ctx.entries) > 0}"
    )


@hooks.on(events.ToolEvent)
def family(ev: events.ToolEvent, ctx: RunContext[Any]) -> None:
    """Note every event of a family."""
    log.append(f"  family: {type(ev).__name__}")


@hooks.on(events.TurnStarted)
def broken(ev: events.TurnStarted, ctx: RunContext[Any]) -> None:
    """Fail, which nobody but the log gets to know."""
    raise RuntimeError("observers must not matter")


counts: dict[str, int] = {}


@hooks.on_any
def every(ev: events.Event, ctx: RunContext[Any]) -> None:
    """Count everything."""
    counts[type(ev).__name__] = counts.get(type(ev).__name__, 0) + 1


@tool
def ping() -> str:
    """Ping."""
    return "pong"


async def main() -> None:
    """Run once with hooks, and tell that decorating kept the functions."""
    script = [call("ping", {}), text("x")]
    agent = Agent(name="a", model=ScriptedProvider(script), tools=[ping], hooks=hooks)
    result = await Runner.run(agent, "go", session_id="s1")
    print(result.output, callable(before), callable(every))
    print("\n".join(log))
    names = ["RunStarted", "TurnStarted", "TextDelta", "MessageCompleted", "ToolCallStarted"]
    print(
        {name: counts[name] for name in [*names, "ToolCallCompleted", "TurnEnded", "RunCompleted"]}
    )


asyncio.run(main())
