"""Answers of a type: models, dataclasses, typed dictionaries and plain types."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from lovia import Agent, Runner, tool
from lovia.testing import ScriptedProvider, call, text


class Brief(BaseModel):
    """A summary with a title."""

    title: str
    bullets: list[str] = []


@dataclass
class Point:
    """A place."""

    x: int
    y: int


class Row(TypedDict):
    """A row of a table."""

    name: str
    count: int


@tool
def fetch() -> str:
    """Fetch the text."""
    return "It rained."


async def ask(kind: Any, answer: str, **options: Any) -> Any:
    """Return what an answer is read as."""
    agent = Agent(name="a", model=ScriptedProvider([text(answer)]), output_type=kind)
    return (await Runner.run(agent, "Go.", **options)).output


async def main() -> None:
    """Print the values and their types."""
    brief = await ask(Brief, '{"title": "Rain", "bullets": ["wet"]}')
    print(type(brief).__name__, brief.title, brief.bullets)
    print(await ask(Point, '{"x": 1, "y": 2}'))
    print(await ask(Row, '{"name": "a", "count": 3}'))
    print(await ask(list[int], "[1, 2, 3]"), await ask(int, "42"), await ask(bool, "true"))
    print(await ask(Brief, '```json\n{"title": "Fenced"}\n```'))
    print(await ask(Brief, 'Here it is: {"title": "Within a sentence"} - enjoy.'))
    print(await ask(str, '{"title": "left alone"}'))

    # What the caller of one run asks for wins over what the agent says.
    print(await ask(str, '{"x": 3, "y": 4}', output_type=Point))
    print(await ask(Point, "[4]", output_type=list[int]))

    script = [call("fetch", {}), text(json.dumps({"title": "After a tool"}))]
    agent = Agent(name="b", model=ScriptedProvider(script), tools=[fetch], output_type=Brief)
    result = await Runner.run(agent, "Summarise.")
    print(result.output.title, result.turns)


asyncio.run(main())
