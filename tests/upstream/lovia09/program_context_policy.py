"""A policy of the user's own, with `compact(req)`, its memory, its tool, and its event."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, ContextOverflowError, InMemorySession, Runner, events, tool
from lovia.context import ContextResult, NoopContextPolicy
from lovia.testing import ScriptedProvider, text
from lovia.transcript import InputEntry


@tool
def recall(number: int) -> str:
    """Get something back."""
    return f"entry {number}"


class KeepLast:
    """Keeps the prompt and the last entries, and counts in its memory how often it acted."""

    def __init__(self, keep: int) -> None:
        self.keep = keep

    def tools(self) -> list[Any]:
        """Offer a tool while this policy is active."""
        return [recall]

    async def compact(self, req: Any) -> ContextResult:
        """Leave the middle out."""
        head = [e for e in req.entries if isinstance(e, InputEntry) and e.role == "system"]
        body = [e for e in req.entries if not (isinstance(e, InputEntry) and e.role == "system")]
        keep = 1 if req.overflow else self.keep
        if len(body) <= keep:
            return ContextResult(entries=list(req.entries))
        req.scratch["passes"] = req.scratch.get("passes", 0) + 1
        if req.overflow:
            print("  refused; window:", req.reported_window, "last call:", req.last_input_tokens)
        note = InputEntry(role="user", content=f"({len(body) - keep} left out)")
        return ContextResult(
            entries=[*head, note, *body[-keep:]],
            changed=True,
            compacted=True,
            reason="keep_last",
            summary=f"pass {req.scratch['passes']}",
            tokens_before=len(body),
            tokens_after=keep,
            detail=["the middle was left out"],
        )


class Narrow(ScriptedProvider):
    """A scripted model that once refuses what has more than three entries."""

    refused = False

    async def stream(self, entries: Any, **options: Any) -> Any:
        """Refuse, or answer."""
        if len(entries) > 3 and not self.refused:
            self.refused = True
            raise ContextOverflowError("too long", reported_window=3)
        async for delta in super().stream(entries, **options):
            yield delta


async def main() -> None:
    """Let a conversation outgrow the policy, then the model, and then nothing at all."""
    provider = ScriptedProvider([text("one"), text("two"), text("three")])
    agent = Agent(name="a", instructions="Chat.", model=provider, context_policy=KeepLast(3))
    session = InMemorySession()
    for question in ("first?", "second?", "third?"):
        async for event in Runner.stream(agent, question, session=session, session_id="s"):
            if isinstance(event, events.ContextCompacted):
                notice = event.notice
                print(notice.reactive, notice.reason, notice.summary, list(notice.detail))
    print([[message.content for message in sent] for sent in provider.calls])
    print("the conversation is whole:", len(await session.load("s")))

    narrow = agent.clone(model=Narrow([text("fits")]), context_policy=KeepLast(9))
    history = [InputEntry("user", str(number)) for number in range(6)]
    async for event in Runner.stream(narrow, history):
        if isinstance(event, events.ContextCompacted):
            print("  reactive:", event.notice.reactive)
        elif isinstance(event, events.RunCompleted):
            print(event.result.output)

    last = ScriptedProvider([text("x")])
    await Runner.run(agent.clone(model=last), "y", context_policy=NoopContextPolicy())
    print([message.content for message in last.calls[0]])


asyncio.run(main())
