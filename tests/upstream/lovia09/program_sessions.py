"""Conversations over several runs, in memory and in a file."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from lovia import Agent, InMemorySession, ProviderError, RetryPolicy, Runner, SQLiteSession
from lovia.testing import ScriptedProvider, text
from lovia.transcript import FinishDelta


class Down:
    """A provider that does not answer."""

    name = "down"
    model: str | None = None
    supports_json_schema = False

    async def stream(self, entries: Any, **options: Any) -> Any:
        """Fail before the first delta."""
        if entries:
            raise ProviderError("down")
        yield FinishDelta("stop")


async def converse(session: Any) -> None:
    """Have three runs of one conversation and one of another."""
    provider = ScriptedProvider(
        [text("Noted."), text("Atlas."), text("Hm?"), text("Atlas, again.")]
    )
    agent = Agent(name="a", instructions="Remember.", model=provider)
    await Runner.run(agent, "My project is Atlas.", session=session, session_id="u1")
    result = await Runner.run(agent, "What is it called?", session=session, session_id="u1")
    await Runner.run(agent, "What is it called?", session=session, session_id="u2")
    print("own entries:", len(result.entries), "sent:", [len(sent) for sent in provider.calls])

    broken = agent.clone(model=Down(), retry=RetryPolicy(max_attempts=1))
    try:
        await Runner.run(broken, "Lost.", session=session, session_id="u1")
    except ProviderError:
        print("a failed run leaves", len(await session.load("u1")), "entries")

    segments = await session.segments("u1")
    print([len(segment.entries) for segment in segments], len({s.run_id for s in segments}))
    print([getattr(entry, "content", "") for entry in await session.load("u1")])

    run_id = await session.append("u1", segments[0].entries, run_id=segments[0].run_id)
    print("idempotent:", run_id == segments[0].run_id, len(await session.load("u1")))
    print("rewound by", await session.rewind("u1", keep_entries=2), len(await session.load("u1")))
    await Runner.run(agent, "Once more?", session=session, session_id="u1")
    print([getattr(entry, "content", "") for entry in await session.load("u1")])
    await session.clear("u1")
    print(len(await session.load("u1")), len(await session.load("u2")), await session.load("u3"))


async def main() -> None:
    """Use both stores; the file is read again by another object."""
    await converse(InMemorySession())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chat.db"
        await converse(SQLiteSession(path))
        print(len(await SQLiteSession(str(path)).load("u2")), "entries from the file")


asyncio.run(main())
