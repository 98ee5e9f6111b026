"""Limits of one run: turns, tool calls, tokens and time."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, BudgetExceeded, MaxTurnsExceeded, RunBudget, Runner, events, tool
from lovia.testing import ScriptedProvider, batch, call, text

rings: list[int] = []


@tool
async def ring(wait: float = 0.0) -> str:
    """Ring the bell."""
    await asyncio.sleep(wait)
    rings.append(1)
    return "ding"


def ringer(*turns: Any) -> Agent:
    """Make an agent whose model does this."""
    return Agent(name="a", model=ScriptedProvider(list(turns)), tools=[ring])


async def attempt(agent: Agent, **limits: Any) -> None:
    """Print how a run with these limits ends, and how often the bell rang."""
    rings.clear()
    try:
        result = await Runner.run(agent, "Ring.", **limits)
    except (BudgetExceeded, MaxTurnsExceeded) as error:
        print(type(error).__name__, "rang", len(rings))
    else:
        print(result.output, "rang", len(rings), "turns", result.turns)


async def main() -> None:
    """Stay within each limit and go over it."""
    once, three = call("ring", {}), batch(("ring", {}), ("ring", {}), ("ring", {}))
    await attempt(ringer(once, text("rung")), max_turns=2)
    await attempt(ringer(once, text("rung")), max_turns=1)
    await attempt(ringer(three, text("rung")), budget=RunBudget(max_tool_calls=3))
    await attempt(ringer(once, once, once, text("rung")), budget=RunBudget(max_tool_calls=2))
    await attempt(ringer(once, once, text("rung")), budget=RunBudget(max_input_tokens=1))
    await attempt(ringer(once, once, text("rung")), budget=RunBudget(max_output_tokens=1))
    await attempt(ringer(once, once, text("rung")), budget=RunBudget(max_total_tokens=3))
    await attempt(ringer(once, text("rung")), budget=RunBudget(max_total_tokens=4))
    slow = call("ring", {"wait": 0.6})
    await attempt(ringer(slow, slow, text("rung")), budget=RunBudget(max_seconds=0.5))
    await attempt(ringer(slow, text("rung")), budget=RunBudget(max_seconds=60))

    last = [e async for e in Runner.stream(ringer(once, once), "Ring.", max_turns=1)][-1]
    print(type(last).__name__, isinstance(last, events.ErrorEvent))


asyncio.run(main())
