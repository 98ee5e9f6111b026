"""A specialist takes over, with the whole conversation."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, Handoff, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, batch, call, text
from lovia.transcript import InputEntry


@tool
def ledger() -> str:
    """Read the ledger."""
    return "42 EUR open"


def note(args: dict[str, Any], ctx: RunContext[Any]) -> None:
    """Tell that a handoff fires, and where from."""
    print("on_handoff:", args.get("reason"), "from", ctx.agent.name)


async def main() -> None:
    """Hand over by a plain agent, by a described handoff, and beside another tool."""
    specialist_model = ScriptedProvider([call("ledger", {}), text("You owe 42 EUR.")])
    billing = Agent(
        name="billing", instructions="You know the ledger.", model=specialist_model, tools=[ledger]
    )
    router_model = ScriptedProvider([call("transfer_to_billing", {"reason": "money"})])
    router = Agent(name="router", instructions="You route.", model=router_model, handoffs=[billing])

    async for event in Runner.stream(router, "What do I owe?"):
        if isinstance(event, events.HandoffOccurred):
            print(event.from_agent.name, "->", event.to_agent.name)
        elif isinstance(event, events.TurnStarted):
            print("turn", event.turn, "of", event.agent.name)
        elif isinstance(event, events.RunCompleted):
            result = event.result
            print(result.output, result.final_agent.name, result.usage.total_tokens)
            print([type(entry).__name__ for entry in result.entries])
    sent = specialist_model.calls[0]
    print("new prompt:", sent[0].content, "| question kept:", sent[1].content)

    described = Handoff(billing, name="ask_the_books", description="Money.", on_handoff=note)
    billing.model = ScriptedProvider([text("Nothing is open.")])
    script = [batch(("ledger", {}), ("ask_the_books", {"reason": "a dispute"}))]
    front = Agent(
        name="front", model=ScriptedProvider(script), tools=[ledger], handoffs=[described]
    )
    result = await Runner.run(front, "I dispute this.")
    print(result.output, result.final_agent.name, result.turns)
    roles = [entry.role for entry in result.entries if isinstance(entry, InputEntry)]
    print("no prompts in the transcript:", roles)


asyncio.run(main())
