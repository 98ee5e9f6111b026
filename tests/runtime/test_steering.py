"""Messages into a running agent."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import AgentHooks, InputEntry, Mailbox, RunContext, Runner, TextPart, events, tool
from lovia.testing import call, text
from tests.runtime.support import events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


@tool
def look() -> str:
    """Look."""
    return "seen"


async def test_what_waits_is_seen_in_the_next_turn() -> None:
    """Messages enter the transcript at the start of a turn, in order, each with its event."""
    mailbox = Mailbox()
    mailbox.push("early")
    agent = scripted(call("look"), text("ok"), tools=[look])

    def push(event: events.Event) -> None:
        if isinstance(event, events.ToolCallCompleted):
            mailbox.push([TextPart("late")])

    handle = Runner.stream(agent, "go", mailbox=mailbox)
    seen = await events_of(handle, push)
    injected = [event for event in seen if isinstance(event, events.UserMessageInjected)]
    assert [(event.content, event.turn) for event in injected] == [
        ("early", 1),
        ([TextPart("late")], 2),
    ]
    first, second = (request.entries for request in provider_of(agent).requests)
    assert first == [InputEntry("user", "go"), InputEntry("user", "early")]
    assert second[-1] == InputEntry("user", [TextPart("late")])
    assert kinds(seen)[1:3] == ["TurnStarted", "UserMessageInjected"]


async def test_a_turn_s_hook_is_in_time_for_that_turn() -> None:
    """What a TurnStarted hook pushes through the context is seen in the same turn."""
    hooks = AgentHooks()

    @hooks.on(events.TurnStarted)
    def steer(_event: events.TurnStarted, ctx: RunContext[Any]) -> None:
        ctx.mailbox.push("now")

    agent = scripted(text("ok"), hooks=hooks)
    await Runner.run(agent, "go")
    assert provider_of(agent).requests[0].entries[-1] == InputEntry("user", "now")


async def test_what_comes_too_late_stays() -> None:
    """Messages that no turn came to are left for the caller."""
    mailbox = Mailbox()

    def push(event: events.Event) -> None:
        if isinstance(event, events.MessageCompleted):
            mailbox.push("too late")

    await events_of(Runner.stream(scripted(text("ok")), "go", mailbox=mailbox), push)
    assert len(mailbox) == 1
    assert mailbox.drain() == ["too late"]
    assert mailbox.drain() == []


def test_a_message_can_be_taken_back() -> None:
    """A token takes its message back once, and only while it waits."""
    mailbox = Mailbox()
    first, second = mailbox.push("a"), mailbox.push(TextPart("b"))
    assert mailbox.remove(first)
    assert not mailbox.remove(first)
    assert mailbox.drain() == [TextPart("b")]
    assert not mailbox.remove(second)
