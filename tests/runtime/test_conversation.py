"""Runs that share a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import Agent, CompactingContextPolicy, InputEntry, Runner, UserError, events
from lovia.stores import InMemorySession
from lovia.testing import ScriptedProvider, text
from tests.runtime.support import Untouched, events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


async def test_a_run_sees_what_was_said_before() -> None:
    """The next run's request holds the conversation so far; its result holds its own part."""
    session = InMemorySession()
    await Runner.run(scripted(text("hello")), "I am Ada", session=session, session_id="s")
    agent = scripted(text("Ada"))
    result = await Runner.run(agent, "who?", session=session, session_id="s")
    assert len(provider_of(agent).requests[0].entries) == 3
    assert result.entries[0] == InputEntry("user", "who?")
    assert len(result.entries) == 2
    assert await session.load("s") == [*(await session.segments("s"))[0].entries, *result.entries]
    assert [segment.run_id for segment in await session.segments("s")][1] == result.run_id


async def test_a_failed_run_adds_nothing() -> None:
    """Only completed runs are part of the conversation."""
    session = InMemorySession()
    with pytest.raises(UserError):
        await Runner.run(scripted(), "go", session=session, session_id="s")
    assert await session.load("s") == []


async def test_policies_remember_over_runs() -> None:
    """The state that a policy leaves in one run is what it finds in the next."""

    class Counting(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.state["calls"] = ctx.state.get("calls", 0) + 1
            return await super().apply(entries, ctx=ctx)

    session, policy = InMemorySession(), Counting()
    for _ in range(3):
        agent = scripted(text("ok"), context_policy=policy)
        await Runner.run(agent, "go", session=session, session_id="s")
    assert policy.contexts[-1].state["calls"] == 3
    agent = scripted(text("ok"), context_policy=policy)
    await Runner.run(agent, "go", session=session, session_id="other")
    assert policy.contexts[-1].state["calls"] == 1


async def test_decisions_are_replayed_in_the_next_run() -> None:
    """What was compacted in one run is sent compacted, without a new pass, in the next."""
    session = InMemorySession()
    long: list[Any] = [InputEntry("user", f"message {i} " + "word " * 100) for i in range(60)]

    def agent() -> Agent[Any]:
        provider = ScriptedProvider(
            [text("ok")],
            window=4_000,
            usage="counted",
            summarize="## Goal\nx\n\n## State\ny\n\n## Planned\nz",
        )
        return Agent("bot", model=provider, context_policy=CompactingContextPolicy())

    first = agent()
    seen = await events_of(Runner.stream(first, long, session=session, session_id="s"))
    assert "ContextCompacted" in kinds(seen)
    second = agent()
    seen = await events_of(Runner.stream(second, "more", session=session, session_id="s"))
    assert "ContextCompacted" not in kinds(seen)
    before, after = provider_of(first).requests[-1], provider_of(second).requests[-1]
    assert after.entries[: len(before.entries)] == before.entries
    assert len(after.entries) == len(before.entries) + 2


async def test_a_session_needs_a_name() -> None:
    """A session without session_id is refused; a session_id alone names the conversation."""
    with pytest.raises(UserError, match="session_id"):
        await Runner.run(scripted(text("ok")), "go", session=InMemorySession())
    policy = Untouched()
    agent = scripted(text("ok"), context_policy=policy)
    seen = await events_of(Runner.stream(agent, "go", session_id="s"))
    assert policy.contexts[0].session_id == "s"
    assert isinstance(seen[0], events.RunStarted)
    assert seen[0].session_id == "s"


@pytest.mark.parametrize("method", ["segments", "append"])
async def test_a_broken_session_fails_the_run(method: str) -> None:
    """What the storage raises ends the stream with RunFailed, before or after the work."""

    class Broken(InMemorySession):
        pass

    async def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise OSError("disk full")

    session = Broken()
    setattr(session, method, fail)
    seen = await events_of(
        Runner.stream(scripted(text("ok")), "go", session=session, session_id="s")
    )
    assert kinds(seen).count("RunFailed") == 1
    assert kinds(seen)[-1] == "RunFailed"
