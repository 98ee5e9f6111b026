"""An agent as a tool of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import (
    BudgetExceeded,
    InputEntry,
    ProviderError,
    RunBudget,
    RunCancelled,
    RunContext,
    RunHandle,
    Runner,
    ToolResultEntry,
    Usage,
    events,
    tool,
)
from lovia.testing import batch, call, text
from tests.runtime.support import Untouched, events_of, provider_of, scripted
from tests.runtime.test_telemetry import tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio


async def test_the_inner_run_sees_the_task_alone() -> None:
    """The task is the inner input, its answer the tool's result, its usage part of the outer's."""
    inner = scripted(text("42"), name="deep thought", instructions="Think.")
    outer = scripted(
        call("ask_deep_thought", {"input": "why?"}), text("ok"), tools=[inner.as_tool()]
    )
    result = await Runner.run(outer, "go")
    assert result.entries[2] == ToolResultEntry("call_ask_deep_thought", "42")
    assert provider_of(inner).requests[0].entries == [
        InputEntry("system", "Think."),
        InputEntry("user", "why?"),
    ]
    assert result.usage.total_tokens == 6


async def test_dependencies_are_shared_and_details_can_be_given() -> None:
    """The inner run has the outer deps; name, description and limits are the developer's."""
    seen: list[Any] = []

    @tool
    def look(ctx: RunContext[Any]) -> str:
        """Look."""
        seen.append((ctx.deps, ctx.mailbox, ctx.run_id))
        return "seen"

    inner = scripted(call("look"), text("never"), tools=[look])
    made = inner.as_tool(name="peek", description="Peek.", max_turns=1)
    outer = scripted(call("peek", {"input": "x"}), text("ok"), tools=[made])
    handle = Runner.stream(outer, "go", deps="mine")
    result = await handle.result()
    assert (made.name, made.description) == ("peek", "Peek.")
    ((deps, mailbox, run_id),) = seen
    assert deps == "mine"
    assert mailbox is not handle.context.mailbox
    assert run_id != result.run_id
    assert "1 turns" in result.entries[2].output  # type: ignore[union-attr]


async def test_a_failed_inner_run_still_counts() -> None:
    """What an inner run spent before it failed is in the outer usage; the model reads the error."""
    inner = scripted(call("nope"), ProviderError("down"), name="inner")
    outer = scripted(call("ask_inner", {"input": "x"}), text("ok"), tools=[inner.as_tool()])
    result = await Runner.run(outer, "go")
    assert result.entries[2].output == "Tool error: down"  # type: ignore[union-attr]
    assert result.usage.total_tokens == 6


async def test_inner_spending_counts_in_the_outer_budget() -> None:
    """The outer budget ends the run when inner runs have spent it."""
    inner = scripted(*[text("x")] * 3, name="inner")
    outer = scripted(*[call("ask_inner", {"input": "x"})] * 3, text("ok"), tools=[inner.as_tool()])
    with pytest.raises(BudgetExceeded):
        await Runner.run(outer, "go", budget=RunBudget(max_total_tokens=7))
    assert len(provider_of(outer).requests) == 2


@pytest.mark.parametrize("levels", [1, 2])
async def test_an_inner_run_stops_when_the_outer_budget_is_spent(levels: int) -> None:
    """It does not go on at the outer run's cost until it has its answer, however deep it is."""

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    worker = scripted(*[call("look")] * 30, text("never"), name="worker", tools=[look])
    agent, asked = worker, "ask_worker"
    for level in range(levels):
        agent = scripted(
            call(asked, {"input": "x"}), text("ok"), name=f"n{level}", tools=[agent.as_tool()]
        )
        asked = f"ask_n{level}"
    with pytest.raises(BudgetExceeded) as caught:
        await Runner.run(agent, "go", budget=RunBudget(max_total_tokens=12))
    assert caught.value.limit == "max_total_tokens"
    spent_before = 2 * levels  # tokens of the answers that asked the worker
    assert len(provider_of(worker).requests) == (12 - spent_before) // 2 + 1


async def test_what_inner_runs_spend_is_in_the_outer_usage_at_once() -> None:
    """Two that run side by side are both seen while they are in the middle of their work."""
    here = [anyio.Event(), anyio.Event()]
    totals: list[int] = []

    @tool
    async def meet(number: int) -> str:
        """Wait until the other one is here as well."""
        here[number].set()
        await here[1 - number].wait()
        totals.append(handle.context.usage.total_tokens)
        return "met"

    inner = [
        scripted(call("meet", {"number": n}), text("ok"), name=f"n{n}", tools=[meet])
        for n in (0, 1)
    ]
    outer = scripted(
        batch(("ask_n0", {"input": "x"}), ("ask_n1", {"input": "x"})),
        text("ok"),
        tools=[agent.as_tool() for agent in inner],
    )
    handle = Runner.stream(outer, "go")
    result = await handle.result()
    assert totals[0] == 6
    assert result.usage.total_tokens == 12


async def test_inner_summaries_are_summaries_of_the_outer_run() -> None:
    """The summaries' share of an inner run is part of the outer's, also when nobody said so."""

    class Books(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.usage.add(Usage(input_tokens=5, output_tokens=1))
            return await super().apply(entries, ctx=ctx)

    inner = scripted(text("x"), name="inner", context_policy=Books())
    outer = scripted(call("ask_inner", {"input": "x"}), text("ok"), tools=[inner.as_tool()])
    result = await Runner.run(outer, "go")
    assert result.usage.total_tokens == 12
    assert result.usage.summary.total_tokens == 6


async def test_each_inner_run_has_a_budget_of_its_own() -> None:
    """The inner budget is counted anew for each call of the tool."""

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    inner = scripted(
        *[call("look"), text("a"), call("look"), text("b")], name="inner", tools=[look]
    )
    made = inner.as_tool(budget=RunBudget(max_tool_calls=1))
    outer = scripted(*[call("ask_inner", {"input": "x"})] * 2, text("ok"), tools=[made])
    result = await Runner.run(outer, "go")
    assert [e.output for e in result.entries if isinstance(e, ToolResultEntry)] == ["a", "b"]


async def test_a_stop_reaches_the_inner_run() -> None:
    """The token is shared: a stop inside the inner run ends the outer one as cancelled."""

    @tool
    def stop(ctx: RunContext[Any]) -> None:
        """Stop."""
        ctx.cancel_token.cancel("shutdown")

    inner = scripted(call("stop"), text("never"), name="inner", tools=[stop])
    outer = scripted(call("ask_inner", {"input": "x"}), text("never"), tools=[inner.as_tool()])
    handle = Runner.stream(outer, "go")
    seen = await events_of(handle)
    failed = seen[-1]
    assert isinstance(failed, events.RunFailed)
    assert isinstance(failed.error, RunCancelled)
    assert failed.error.reason == "shutdown"
    assert len(provider_of(inner).requests) == 1


async def test_an_inner_model_call_is_interrupted_at_once() -> None:
    """The stop button of the outer run ends the wait of the inner one."""

    async def never(_request: Any) -> Any:
        await anyio.sleep(30)

    inner = scripted(never, name="inner")
    outer = scripted(call("ask_inner", {"input": "x"}), text("never"), tools=[inner.as_tool()])

    async def stop(handle: RunHandle) -> None:
        await anyio.wait_all_tasks_blocked()
        handle.cancel()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, Runner.stream(outer, "go") as handle:
            async for event in handle:
                if isinstance(event, events.ToolCallStarted):
                    tasks.start_soon(stop, handle)
    assert isinstance(event, events.RunFailed)
    assert isinstance(event.error, RunCancelled)


async def test_the_inner_run_is_below_the_tool(telemetry: Telemetry) -> None:
    """The inner run's span is a child of the tool call's."""
    inner = scripted(text("42"), name="inner")
    outer = scripted(call("ask_inner", {"input": "x"}), text("ok"), tools=[inner.as_tool()])
    await Runner.run(outer, "go")
    assert ("invoke_agent inner", "execute_tool ask_inner") in tree(telemetry)
