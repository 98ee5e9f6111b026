"""The pieces of the library on their own, as unit tests use them."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import (
    Agent,
    AgentHooks,
    BudgetExceeded,
    CancelToken,
    Mailbox,
    ModelSettings,
    RetryPolicy,
    RunBudget,
    RunContext,
    Tool,
    Usage,
    events,
    tool,
)
from lovia.testing import ScriptedProvider, call, text


@tool(needs_approval=lambda args, ctx: args["a"] > 9)
async def add(ctx: RunContext[int], a: int, b: int = 1) -> int:
    """Add, and the dependency as well."""
    return a + b + (ctx.deps or 0)


async def lower(args: dict[str, Any], ctx: RunContext[Any]) -> str:
    """Work for a tool that is put together by hand."""
    return str(args["word"]).lower()


async def main() -> None:
    """Use one after the other."""
    agent = Agent(
        name="a", instructions="Be kind.", settings=ModelSettings(stop=["END"], top_p=0.5)
    )
    ctx = RunContext(deps=100, entries=[], agent=agent)
    print(ctx.turn, ctx.usage.total_tokens, ctx.session_id, ctx.messages, repr(ctx.system_prompt))
    print(await add.invoke({"a": 1}, ctx), await add.invoke({"a": "2", "b": 3}, ctx))
    print(add.requires_approval({"a": 1}, ctx), add.requires_approval({"a": 10}, ctx))
    print(await agent.render_system_prompt(ctx, extra="Be brief."))

    hooks = AgentHooks()
    hooks.on(events.TextDelta)(lambda event, ctx: print("heard", event.delta))
    await hooks.dispatch(events.TextDelta("a word"), ctx)

    parameters = {"type": "object", "properties": {"word": {"type": "string"}}}
    made = Tool(name="lower", description="Lower.", parameters=parameters, invoke=lower)
    model = ScriptedProvider([call("lower", {"word": "LOUD"}), text("Quiet.")])
    result = await agent.clone(model=model, tools=[made]).run("Lower it.")
    print([getattr(entry, "output", "") for entry in result.entries])

    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=4)
    copy = usage.clone()
    copy.add(Usage(input_tokens=1, output_tokens=1, cache_write_tokens=2))
    print(usage.total_tokens, copy.total_tokens, copy.cache_read_tokens, copy.cache_write_tokens)

    budget = RunBudget(max_tool_calls=1)
    budget.record_tool_call()
    budget.check(usage)
    budget.record_tool_call()
    try:
        budget.check(usage)
    except BudgetExceeded:
        print("the budget is spent")

    retry = RetryPolicy(backoff_base=1.0, backoff_max=4.0)
    delays = [retry.backoff_delay(attempt) for attempt in range(1, 9)]
    print(all(0 <= delay <= 6 for delay in delays), delays[0] < delays[3])
    mailbox, token = Mailbox(), CancelToken()
    mailbox.push("a")
    mailbox.push("b")
    token.cancel()
    print(mailbox.drain(), mailbox.drain(), token.is_cancelled)


asyncio.run(main())
