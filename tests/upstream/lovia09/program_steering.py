"""Messages into a run: from outside, from a hook, from a tool; taken back, or left over."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, AgentHooks, ImagePart, Mailbox, RunContext, Runner, TextPart, events, tool
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import InputEntry

hooks = AgentHooks()


@hooks.on(events.TurnStarted)
def deadline(ev: events.TurnStarted, ctx: RunContext[Any]) -> None:
    """Hurry the model up, in the turn that begins."""
    if ev.turn == 3:
        ctx.mailbox.push("Last turn.")


@tool
def read(ctx: RunContext[Any], page: int) -> str:
    """Read a page, and leave a note for the next turn."""
    if page == 1:
        ctx.mailbox.push([TextPart("See"), ImagePart(url="https://example.test/p1.png")])
    return f"page {page}"


async def main() -> None:
    """Push before the run, in it, and in its last turn."""
    script = [call("read", {"page": 1}), call("read", {"page": 2}), text("Read.")]
    agent = Agent(name="reader", model=ScriptedProvider(script), tools=[read], hooks=hooks)
    mailbox = Mailbox()
    first, second = mailbox.push("Be brief."), mailbox.push("Be verbose.")
    print("taken back:", mailbox.remove(second), mailbox.remove(second), first != second)

    async for event in Runner.stream(agent, "Read the book.", mailbox=mailbox):
        if isinstance(event, events.UserMessageInjected):
            content: Any = event.content
            shown = content if isinstance(content, str) else [part.type for part in content]
            print("turn", event.turn, "takes up", shown)
        elif isinstance(event, events.MessageCompleted) and event.entries:
            mailbox.push("Too late?") if "Read." in str(event.entries[0]) else None
        elif isinstance(event, events.RunCompleted):
            said = [entry for entry in event.result.entries if isinstance(entry, InputEntry)]
            print([e.content if isinstance(e.content, str) else len(e.content) for e in said])
    print("consumed:", mailbox.remove(first), "left over:", mailbox.drain(), mailbox.drain())


asyncio.run(main())
