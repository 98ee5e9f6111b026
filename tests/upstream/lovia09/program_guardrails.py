"""Vetoes over the input and over the answer."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel

from lovia import Agent, GuardrailTripped, RunContext, Runner, events
from lovia.testing import ScriptedProvider, text


class Quote(BaseModel):
    """A quotation."""

    words: str
    source: str | None = None


async def short(messages: Any, ctx: RunContext[Any]) -> str | None:
    """Refuse long questions; sees what the model would see."""
    question = messages[-1].content
    return "too long" if len(question) > 20 else None


async def must_cite(output: Any, ctx: RunContext[Any]) -> str | None:
    """Refuse answers without a source."""
    return "no source" if "source:" not in str(output) else None


async def typed(output: Any, ctx: RunContext[Any]) -> None:
    """Refuse typed answers by raising."""
    if output.source is None:
        raise GuardrailTripped("a quotation without its source", hint="Cite.")


async def ask(agent: Agent, question: str) -> None:
    """Print the answer or the refusal, and how many model calls were made."""
    model: Any = agent.model
    try:
        result = await Runner.run(agent, question)
    except GuardrailTripped as tripped:
        print("refused:", "too long" in str(tripped), "source" in str(tripped), len(model.calls))
    else:
        print(result.output, len(model.calls))


async def main() -> None:
    """Pass and trip each kind."""
    good = "Yes. source: almanac"
    await ask(
        Agent(name="a", model=ScriptedProvider([text(good)]), input_guardrails=[short]), "Hm?"
    )
    await ask(Agent(name="b", model=ScriptedProvider([]), input_guardrails=[short]), "Hm? " * 9)
    await ask(
        Agent(name="c", model=ScriptedProvider([text(good)]), output_guardrails=[must_cite]),
        "Tides?",
    )
    await ask(
        Agent(name="d", model=ScriptedProvider([text("Yes.")]), output_guardrails=[must_cite]),
        "Tides?",
    )
    for answer in ('{"words": "x", "source": "y"}', '{"words": "x"}'):
        model = ScriptedProvider([text(answer)])
        await ask(Agent(name="e", model=model, output_type=Quote, output_guardrails=[typed]), "?")
    refused = Agent(name="f", model=ScriptedProvider([text("No.")]), output_guardrails=[must_cite])
    last = [event async for event in Runner.stream(refused, "?")][-1]
    assert isinstance(last, events.RunFailed)
    print(type(last.error).__name__)


asyncio.run(main())
