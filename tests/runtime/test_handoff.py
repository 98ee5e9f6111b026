"""Handoffs: names, callbacks, and one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import Handoff, Runner, ToolResultEntry
from lovia.testing import batch, call, text
from tests.runtime.support import provider_of, scripted

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
