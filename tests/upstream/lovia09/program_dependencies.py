"""What the caller lends to a run reaches tools, instructions, guardrails and hooks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from lovia import Agent, AgentHooks, RunContext, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text


@dataclass
class Deps:
    """A user, and what is known of orders."""

    user: str
    orders: dict[str, str]
    audit: list[str] = field(default_factory=list)


@tool
async def status(ctx: RunContext[Deps], order: str) -> str:
    """Tell the status of an order."""
    assert ctx.deps is not None
    ctx.deps.audit.append(f"turn {ctx.turn}: {ctx.deps.user} asked for {order}")
    ctx.deps.audit.append(f"{ctx.agent.name} {ctx.run_id is not None} {ctx.usage.total_tokens}")
    return ctx.deps.orders.get(order, "unknown")


@tool
def whoami(context: RunContext[Deps]) -> str:
    """Tell who asks; the parameter may have any name."""
    assert context.deps is not None
    return f"{context.deps.user}, turn {context.turn}, {context.cancel_token.is_cancelled}"


def instructions(ctx: RunContext[Deps]) -> str:
    """Greet the user in the prompt."""
    assert ctx.deps is not None
    return f"You talk to {ctx.deps.user}."


async def known(output: object, ctx: RunContext[Deps]) -> str | None:
    """Refuse to talk to strangers."""
    assert ctx.deps is not None
    return None if ctx.deps.user == "Ada" else "stranger"


hooks = AgentHooks()


@hooks.on(events.RunCompleted)
def note(ev: events.RunCompleted, ctx: RunContext[Deps]) -> None:
    """Note the end."""
    assert ctx.deps is not None
    ctx.deps.audit.append(f"completed, session {ctx.session_id}")


async def main() -> None:
    """Run with dependencies, and print what everybody did with them."""
    script = [call("status", {"order": "A1"}), call("whoami", {}), text("It is on its way.")]
    provider = ScriptedProvider(script)
    agent: Agent[Deps] = Agent(
        name="support",
        instructions=instructions,
        model=provider,
        tools=[status, whoami],
        output_guardrails=[known],
        hooks=hooks,
    )
    deps = Deps("Ada", {"A1": "shipped"})
    result = await Runner.run(agent, "Where is A1?", deps=deps)
    print(result.output)
    print("\n".join(deps.audit))
    print(provider.calls[0][0].content)
    print([entry.output for entry in result.entries if hasattr(entry, "output")])
    print(
        "hidden from the model:",
        list(status.parameters["properties"]),
        whoami.parameters["properties"],
    )


asyncio.run(main())
