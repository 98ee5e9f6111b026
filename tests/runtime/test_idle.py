"""Compacting a conversation between its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    AgentHooks,
    BudgetExceeded,
    CompactingContextPolicy,
    InMemorySession,
    InputEntry,
    NoopContextPolicy,
    RunBudget,
    Runner,
    Session,
    SessionConflict,
    SQLiteSession,
    UserError,
    compact_session,
    events,
)
from lovia.errors import SummaryRejected
from lovia.testing import ScriptedProvider, text
from tests.runtime.support import events_of, kinds, provider_of, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import Agent

pytestmark = pytest.mark.anyio

SUMMARY = "## Goal\nport it\n\n## State\nhalf done\n\n## Planned\nthe tests"
LONG: list[Any] = [InputEntry("user", f"message {i} " + "word " * 60) for i in range(40)]


def talker(*script: Any, summarize: Any = SUMMARY, **fields: Any) -> Agent[Any]:
    """Return an agent whose model can write summaries."""
    provider = ScriptedProvider(script, window=20_000, usage="counted", summarize=summarize)
    fields.setdefault("context_policy", CompactingContextPolicy())
    return scripted(provider=provider, **fields)


class ThreeMethods(Session):
    """A session as earlier releases had them, with no place of its own for policies' memory."""

    def __init__(self) -> None:
        self.kept = InMemorySession()

    async def segments(self, session_id: str) -> Any:
        """Return the segments."""
        return await self.kept.segments(session_id)

    async def append(self, session_id: str, entries: Any, **options: Any) -> str:
        """Add a segment; nothing else than id and meta is known."""
        assert set(options) == {"run_id", "meta"}
        return await self.kept.append(session_id, entries, **options)

    async def clear(self, session_id: str) -> None:
        """Forget."""
        await self.kept.clear(session_id)


async def talked(session: Any) -> None:
    """Hold a long conversation."""
    await Runner.run(talker(text("ok")), LONG, session=session, session_id="s")


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_next_run_starts_with_a_short_view(kind: str, tmp_path: Path) -> None:
    """The conversation stays as it is; the next run sends the summary and pays for none."""
    session: Any = InMemorySession() if kind == "memory" else SQLiteSession(tmp_path / "s.db")
    await talked(session)
    before = await session.load("s")
    agent = talker(hooks=AgentHooks())
    heard: list[Any] = []
    assert agent.hooks is not None
    agent.hooks.on_any(lambda event, _ctx: heard.append(event))
    event = await compact_session(session, "s", agent=agent, focus="the port")
    assert event is not None
    assert event.reason == "manual_summary"
    assert event.usage.total_tokens > 0
    assert "the port" in str(provider_of(agent).requests[0].entries)
    assert "ContextCompacted" in kinds(heard)
    assert await session.load("s") == before
    later = talker(text("fine"))
    seen = await events_of(Runner.stream(later, "and now?", session=session, session_id="s"))
    assert "ContextCompacted" not in kinds(seen)
    (request,) = provider_of(later).requests
    assert "half done" in str(request.entries)
    assert len(request.entries) < len(before)
    if kind == "sqlite":
        await session.aclose()


async def test_an_empty_conversation_is_left_alone() -> None:
    """Where nothing was said there is nothing to compact."""
    assert await compact_session(InMemorySession(), "s", agent=talker()) is None


async def test_a_run_that_ends_meanwhile_comes_first() -> None:
    """The conversation is read again, and what is compacted is what it is then."""
    session = InMemorySession()
    await talked(session)
    asked: list[int] = []

    async def slow(request: Any) -> Any:
        asked.append(len(request.entries))
        if len(asked) == 1:
            await session.append("s", [InputEntry("user", "meanwhile " + "word " * 500)])
        return SUMMARY

    event = await compact_session(session, "s", agent=talker(summarize=slow))
    assert event is not None
    assert len(event.entries_before) == len(await session.load("s")) == 42
    assert len(asked) == 2
    _, memory = await session.recall("s")
    assert memory is not None
    assert memory.entries == 42


async def test_a_conversation_that_never_rests_is_given_up() -> None:
    """After some attempts the caller hears that others keep changing it."""
    session = InMemorySession()
    await talked(session)

    async def busy(_request: Any) -> Any:
        await session.append("s", [InputEntry("user", "again")])
        return SUMMARY

    with pytest.raises(SessionConflict) as caught:
        await compact_session(session, "s", agent=talker(summarize=busy))
    assert caught.value.session_id == "s"


async def test_what_cannot_work_is_refused() -> None:
    """A policy that cannot compact, a session that cannot keep it, a spent budget: each says so."""
    session = InMemorySession()
    await talked(session)
    with pytest.raises(UserError, match="does not compact on request"):
        await compact_session(session, "s", agent=talker(), context_policy=NoopContextPolicy())
    small = scripted(
        provider=ScriptedProvider([], window=2_000, usage="counted", summarize=SUMMARY),
        context_policy=CompactingContextPolicy(),
    )
    with pytest.raises(BudgetExceeded):
        await compact_session(session, "s", agent=small, budget=RunBudget(max_total_tokens=1))

    with pytest.raises(UserError, match="ThreeMethods cannot keep"):
        await compact_session(ThreeMethods(), "s", agent=talker())
    with pytest.raises(UserError, match="session_id"):
        await compact_session(session, "", agent=talker())


async def test_a_summary_that_fails_changes_nothing() -> None:
    """When the model writes no summary the memory stays what it was."""
    session = InMemorySession()
    await talked(session)
    before = await session.recall("s")
    with pytest.raises(SummaryRejected) as caught:
        await compact_session(session, "s", agent=talker(summarize=""))
    assert caught.value.reason == "empty"
    assert await session.recall("s") == before
    later = talker(text("fine"))
    await Runner.run(later, "x", session=session, session_id="s")
    assert all(entry in provider_of(later).requests[0].entries for entry in LONG[-5:])


async def test_sessions_of_earlier_releases_keep_the_memory_in_meta() -> None:
    """A session with three methods gets the memory in the segment's meta, and gives it back."""
    session = ThreeMethods()
    long = LONG * 3
    first = talker(text("ok"), context_policy=CompactingContextPolicy(max_entries=60))
    seen = await events_of(Runner.stream(first, long, session=session, session_id="s"))
    assert any(isinstance(event, events.ContextCompacted) for event in seen)
    second = talker(text("ok"), context_policy=CompactingContextPolicy(max_entries=60))
    await Runner.run(second, "more", session=session, session_id="s")
    before, after = provider_of(first).requests[-1], provider_of(second).requests[-1]
    assert after.entries[: len(before.entries)] == before.entries
