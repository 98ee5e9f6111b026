"""Chat messages as the input of a run, and as a look at what it did."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import Message, RunContext, Runner, TextPart, assistant, system, tool, user
from lovia.testing import call, text
from tests.notation import A, U
from tests.runtime.support import provider_of, scripted

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("given", "entries"),
    [
        (user("hi"), [U("hi")]),
        ([user("hi"), assistant("ho"), user("hm")], [U("hi"), A("ho"), U("hm")]),
        ([U("hi"), assistant("ho"), U("hm")], [U("hi"), A("ho"), U("hm")]),
        ([user([TextPart("a"), TextPart("b")])], [U(parts=(TextPart("a"), TextPart("b")))]),
    ],
)
async def test_a_run_may_start_with_messages(given: Any, entries: Any) -> None:
    """One message, several, and entries among them become the entries that they mean."""
    result = await Runner.run(scripted(text("ok")), given)
    assert result.entries == [*entries, A("ok")]


@tool
def add(ctx: RunContext[Any], a: int, b: int) -> str:
    """Add, and tell who has spoken so far."""
    return f"{a + b}, after {[message.role for message in ctx.messages]}"


async def test_the_messages_of_a_run_start_another_one() -> None:
    """What `result.messages` gives is accepted as input, calls and results included."""
    script = [call("add", {"a": 1, "b": 2}), text("3"), text("4")]
    agent = scripted(*script, tools=[add], instructions="Add.")
    first = await Runner.run(agent, [system("Today it rains."), user("1+2?")])
    roles = [message.role for message in first.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert first.messages[3].content == "3, after ['system', 'user', 'assistant']"

    second = await Runner.run(agent, [*first.messages, user("And 1?")])
    assert second.entries == [*first.entries, U("And 1?"), A("4")]
    assert second.messages[-1] == Message("assistant", "4")
    assert provider_of(agent).requests[-1].entries[1:] == second.entries[:-1]
