"""An answer that does not fit is asked for again, as often as the agent allows."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel

from lovia import Agent, OutputValidationError, Runner
from lovia.testing import ScriptedProvider, text
from lovia.transcript import InputEntry


class Price(BaseModel):
    """What something costs."""

    cents: int


class Patient:
    """Asks three times, and counts."""

    def build_prompt(self, exc: OutputValidationError, attempt: int) -> str | None:
        """Say what is wanted."""
        return f"Cents, please ({attempt})." if attempt <= 3 else None


async def ask(*answers: str, **options: Any) -> None:
    """Print the output, or what is known about its failure, and how often the user spoke."""
    provider = ScriptedProvider([text(answer) for answer in answers])
    agent = Agent(name="till", model=provider, output_type=Price, **options)
    try:
        result = await Runner.run(agent, "How much?")
    except OutputValidationError as error:
        print("failed:", error.raw, error.output_type_name, "after", len(provider.calls))
    else:
        asked = [e for e in result.entries if isinstance(e, InputEntry) and e.role == "user"]
        print(result.output, result.turns, "turns, asked", len(asked))
        if "output_repair" in options and len(asked) > 1:
            print([e.content for e in asked[1:]])


async def main() -> None:
    """Repair once by default, never, and by a strategy."""
    good = '{"cents": 99}'
    await ask(good)
    await ask("about a euro", good)
    await ask('{"cents": "many"}', good)
    await ask("a euro", "one euro", good)
    await ask("a euro", good, output_repair=False)
    await ask("a euro", "one euro", "1 EUR", good, output_repair=Patient())
    await ask("a", "b", "c", "d", good, output_repair=Patient())


asyncio.run(main())
