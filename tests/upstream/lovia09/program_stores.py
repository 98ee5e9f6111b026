"""Stores of the user's own: a session that is subclassed, a checkpointer that is not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lovia import (
    Agent,
    CheckpointOptions,
    MaxTurnsExceeded,
    RunHead,
    Runner,
    RunSnapshot,
    Segment,
    Session,
    tool,
)
from lovia.testing import ScriptedProvider, call, text


class ListSession(Session):
    """Keeps conversations in lists; loading one is inherited."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Segment]] = {}

    async def segments(self, session_id: str) -> list[Segment]:
        """Return what was kept."""
        return list(self.kept.get(session_id, []))

    async def append(
        self, session_id: str, entries: Any, *, run_id: str | None = None, meta: Any = None
    ) -> str:
        """Keep a run."""
        run_id = run_id or f"run-{len(self.kept)}"
        self.kept.setdefault(session_id, []).append(Segment(run_id, list(entries), meta))
        return run_id

    async def clear(self, session_id: str) -> None:
        """Forget a conversation."""
        self.kept.pop(session_id, None)


class JsonCheckpointer:
    """Keeps heads as JSON, as a database would, and entries as they are."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[list[Any], str]] = {}

    async def append(self, run_id: str, entries: list[Any], head: RunHead) -> None:
        """Add entries and replace the head."""
        log, _ = self.rows.get(run_id, ([], ""))
        self.rows[run_id] = ([*log, *entries], head.to_json())

    async def load(self, run_id: str) -> RunSnapshot | None:
        """Put a run together again."""
        if run_id not in self.rows:
            return None
        log, head = self.rows[run_id]
        return RunSnapshot.from_parts(run_id, list(log), RunHead.from_json(head))

    async def delete(self, run_id: str) -> None:
        """Forget a run."""
        self.rows.pop(run_id, None)


@tool
def step(name: str) -> str:
    """Do one step."""
    return f"{name} done"


async def main() -> None:
    """Converse, break off, go on, and look at what was kept."""
    session, store = ListSession(), JsonCheckpointer()
    provider = ScriptedProvider([text("one"), call("step", {"name": "a"}), text("two"), text("x")])
    agent = Agent(name="worker", model=provider, tools=[step])
    await Runner.run(agent, "First.", session=session, session_id="s")
    where: dict[str, Any] = {"session": session, "session_id": "s"}
    options = CheckpointOptions(store, "r1")
    try:
        await Runner.run(agent, "Second.", max_turns=1, checkpoint=options, **where)
    except MaxTurnsExceeded:
        head = json.loads(store.rows["r1"][1])
        print(head["agent_name"], head["turns"], len(store.rows["r1"][0]), len(session.kept["s"]))
    result = await Runner.run(agent, "Second.", checkpoint=options, **where)
    print(result.output, result.turns, result.usage.total_tokens)
    print([[getattr(e, "content", "-") for e in s.entries] for s in session.kept["s"]])
    again = await Runner.run(agent, "Second.", checkpoint=options, **where)
    print(again.output, len(session.kept["s"]), len(provider.calls))

    snapshot = await store.load("r1")
    assert snapshot is not None
    copied = RunSnapshot.from_json(snapshot.to_json())
    print(copied.run_id, copied.status, copied.output, copied.turns, len(copied.entries))
    print(isinstance(snapshot.head, RunHead), snapshot.head.usage.total_tokens)


asyncio.run(main())
