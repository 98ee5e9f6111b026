"""Handoffs: names, callbacks, and one at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import (
    CancelToken,
    CheckpointOptions,
    Handoff,
    InMemoryCheckpointer,
    RunCancelled,
    RunContext,
    Runner,
    ToolResultEntry,
    tool,
)
from lovia.testing import batch, call, text
from tests.runtime.saving import Plain, saved_run
from tests.runtime.support import provider_of, scripted

if TYPE_CHECKING:
    from lovia import Agent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("agent", "name"),
    [("billing", "transfer_to_billing"), ("Ärzte & Co (1)", "transfer_to__rzte_Co_1_")],
)
def test_names_fit_what_vendors_accept(agent: str, name: str) -> None:
    """The tool's name holds letters, digits, hyphen and underscore only."""
    assert Handoff(scripted(name=agent)).tool_name == name


async def test_details_can_be_given() -> None:
    """Name and description of the tool can be chosen."""
    other = scripted(text("ok"), name="b")
    agent = scripted(call("escalate"), handoffs=[Handoff(other, "escalate", "When angry.")])
    assert (await Runner.run(agent, "go")).final_agent is other
    (schema,) = provider_of(agent).requests[0].tools
    assert schema["function"]["name"] == "escalate"
    assert schema["function"]["description"] == "When angry."


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_callback_is_called_once_with_the_arguments(is_async: bool) -> None:
    """`on_handoff` gets what the model wrote and the context of the agent that hands over."""
    called: list[Any] = []

    async def later(args: Any, ctx: Any) -> None:
        called.append((args, ctx.agent.name))

    def now(args: Any, ctx: Any) -> None:
        called.append((args, ctx.agent.name))

    handoff = Handoff(scripted(text("ok"), name="b"), on_handoff=later if is_async else now)
    await Runner.run(scripted(call("transfer_to_b", {"reason": "x"}), handoffs=[handoff]), "go")
    assert called == [({"reason": "x"}, "bot")]


async def test_a_failing_callback_keeps_the_conversation() -> None:
    """An `on_handoff` that raises is not repeated; the model reads the error, nobody takes over."""
    calls: list[Any] = []

    def refuse(args: Any, _ctx: Any) -> None:
        calls.append(args)
        raise ValueError("closed")

    handoff = Handoff(scripted(name="b"), on_handoff=refuse)
    agent = scripted(
        *(call("transfer_to_b"), text("stay")), handoffs=[handoff], default_tool_retries=3
    )
    result = await Runner.run(agent, "go")
    assert (result.final_agent, result.output) == (agent, "stay")
    assert len(calls) == 1


async def test_the_first_of_two_handoffs_wins() -> None:
    """A second transfer in one turn gets an error result, and its callback is not called."""
    first, second = scripted(text("ok"), name="b"), scripted(name="c")
    called: list[Any] = []
    handoffs = [first, Handoff(second, on_handoff=lambda *args: called.append(args))]
    agent = scripted(batch(("transfer_to_b", {}), ("transfer_to_c", {})), handoffs=handoffs)
    result = await Runner.run(agent, "go")
    assert result.final_agent is first
    outcomes = [e.is_error for e in result.entries if isinstance(e, ToolResultEntry)]
    assert outcomes == [False, True]
    assert called == []


async def test_agents_can_hand_back_and_forth() -> None:
    """A handoff that was applied does not stand in the way of the next."""
    one = scripted(call("transfer_to_two"), text("home"), name="one")
    two = scripted(call("transfer_to_one"), name="two", handoffs=[one])
    one.handoffs.append(two)
    result = await Runner.run(one, "go")
    assert (result.output, result.turns, result.final_agent) == ("home", 3, one)


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
async def test_an_idempotent_callback_is_called_until_it_has_returned(make: Any) -> None:
    """Stopped in its middle it is called again in the next life, with the same key; then no more.

    What ran beside it is not done again.
    """
    called: list[tuple[str | None, str]] = []
    beside: list[str] = []
    token = CancelToken()

    async def tell(_args: Any, ctx: RunContext[Any]) -> None:
        called.append((ctx.idempotency_key, ctx.agent.name))
        if len(called) == 1:
            await anyio.wait_all_tasks_blocked()
            token.cancel()
            await anyio.sleep_forever()

    @tool
    async def look() -> str:
        """Look."""
        beside.append("look")
        return "seen"

    def desk(*of_a: Any) -> Agent[Any]:
        b = scripted(text("b here"), name="b")
        handoff = Handoff(b, on_handoff=tell, idempotent=True)
        return scripted(*of_a, name="a", handoffs=[handoff], tools=[look])

    store = make()
    asked = batch(("transfer_to_b", {"reason": "x"}), ("look", {}))
    _, error = await saved_run(desk(asked), store, cancel_token=token)
    assert isinstance(error, RunCancelled)
    _, result = await saved_run(desk(), store)
    assert result.output == "b here"
    assert len(called) == 2
    assert len(set(called)) == 1
    assert beside == ["look"]
    _, again = await saved_run(desk(), store)
    assert (again.output, len(called)) == ("b here", 2)


async def test_each_call_has_a_key_of_its_own() -> None:
    """Attempts at one call share it; other calls, other runs and a run begun anew do not."""
    keys: list[str | None] = []
    contexts: list[RunContext[Any]] = []

    @tool(retries=1)
    def pay(ctx: RunContext[Any]) -> str:
        """Pay; runs in a thread."""
        contexts.append(ctx)
        keys.append(ctx.idempotency_key)
        if len(keys) % 2:
            raise OSError("again")
        return "paid"

    def agent() -> Agent[Any]:
        return scripted(batch(("pay", {})), batch(("pay", {})), text("ok"), tools=[pay])

    store = InMemoryCheckpointer()
    for run_id in ("r", "s"):
        await saved_run(agent(), store, run_id=run_id)
    anew = CheckpointOptions(store, "r", if_run_exists="restart")
    await saved_run(agent(), store, checkpoint=anew)
    assert len(keys) == 12
    assert keys[::2] == keys[1::2]
    assert len(set(keys)) == 6
    assert all(re.fullmatch("[0-9a-f]{32}", key or "") for key in keys)
    assert contexts[0].idempotency_key is None


async def test_an_inner_run_makes_calls_of_its_own() -> None:
    """What an agent does as a tool has other keys than the call that asked it."""
    keys: dict[str, str | None] = {}

    @tool
    def note(ctx: RunContext[Any]) -> str:
        """Note."""
        keys[ctx.agent.name] = ctx.idempotency_key
        return "noted"

    inner = scripted(call("note"), text("ok"), name="inner", tools=[note])

    @inner.instruction
    def outside_of_calls(ctx: RunContext[Any]) -> str:
        keys["instructions"] = ctx.idempotency_key
        return ""

    outer = scripted(
        batch(("ask_inner", {"input": "x"}), ("note", {})),
        text("ok"),
        tools=[inner.as_tool(), note],
    )
    await Runner.run(outer, "go")
    assert keys["bot"] != keys["inner"]
    assert keys["instructions"] is None
