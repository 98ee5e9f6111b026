"""Tools of every kind of function, and what the model reads of what they return."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from pydantic import BaseModel

from lovia import Agent, Runner, tool
from lovia.testing import ScriptedProvider, batch, text
from lovia.transcript import ToolResultEntry


class Order(BaseModel):
    """An order, as tools take and return it."""

    number: int
    lines: list[str]


@dataclass
class Weight:
    """A weight in grams."""

    grams: float


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers, in a worker thread."""
    assert threading.current_thread() is not threading.main_thread()
    return a + b


@tool
async def pack(order: Order, *, gift: bool = False) -> Order:
    """Pack an order, on the event loop."""
    assert isinstance(order, Order)
    return Order(number=order.number, lines=[*order.lines, "ribbon"] if gift else order.lines)


@tool(name="weigh_all", description="Weigh things.")
def weigh(names: list[str]) -> list[Weight]:
    """Say nothing of this to the model."""
    return [Weight(len(name) / 2) for name in names]


@tool
def forget() -> None:
    """Return nothing."""


@tool
def describe() -> dict[str, object]:
    """Return an object with accents."""
    return {"café": True, "count": None}


async def main() -> None:
    """Call everything in one turn."""
    calls = batch(
        ("add", {"a": 5}),
        ("pack", {"order": {"number": 7, "lines": ["tea"]}, "gift": True}),
        ("weigh_all", {"names": ["ab", "abc"]}),
        ("forget", {}),
        ("describe", {}),
    )
    tools = [add, pack, weigh, forget, describe]
    print([(t.name, t.description) for t in tools])
    agent = Agent(name="shop", model=ScriptedProvider([calls, text("Packed.")]), tools=tools)
    result = await Runner.run(agent, "Pack it.")
    results = [entry for entry in result.entries if isinstance(entry, ToolResultEntry)]
    for entry in sorted(results, key=lambda entry: entry.call_id):
        print(entry.call_id, entry.is_error, entry.output)
    print(result.output)


asyncio.run(main())
