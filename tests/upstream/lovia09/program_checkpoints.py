"""Runs that are saved: replayed when they are complete, refused, begun anew, forgotten."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Literal

from lovia import (
    Agent,
    CheckpointOptions,
    InMemoryCheckpointer,
    Runner,
    SQLiteCheckpointer,
    UserError,
    tool,
)
from lovia.testing import ScriptedProvider, call, text


@tool
def migrate(name: str) -> str:
    """Migrate something."""
    return f"{name} migrated"


def agent(answer: str) -> Agent:
    """Make an agent that calls one tool and answers."""
    script = [call("migrate", {"name": "reports"}), text(answer)]
    return Agent(name="dba", model=ScriptedProvider(script), tools=[migrate])


async def work(store: Any) -> None:
    """Go through what can be asked of a saved run."""

    async def run(answer: str, **options: Any) -> None:
        checkpoint = CheckpointOptions(store, "migration-42", **options)
        asked = agent(answer)
        try:
            result = await Runner.run(asked, "Migrate.", checkpoint=checkpoint)
        except UserError:
            print("refused")
        else:
            calls: Any = asked.model
            print(
                result.output, result.turns, result.usage.total_tokens, len(result.entries), end=" "
            )
            print("model calls:", len(calls.calls))

    choices: list[Literal["resume", "restart", "fail", "resume_only"]] = ["fail", "resume_only"]
    await run("nothing is there yet", if_run_exists="resume_only")
    await run("first")
    await run("not asked again")
    for choice in choices:
        await run(f"asked to {choice}", if_run_exists=choice)
    await run("second", if_run_exists="restart")
    await run("not asked either")

    snapshot = await store.load("migration-42")
    print(snapshot.run_id, snapshot.agent_name, snapshot.status, snapshot.turns, snapshot.output)
    print([type(entry).__name__ for entry in snapshot.entries], snapshot.usage.total_tokens)
    await store.delete("migration-42")
    print("deleted:", await store.load("migration-42"))
    await run("kept no longer than needed", delete_on_success=True)
    print("left:", await store.load("migration-42"))


async def main() -> None:
    """Use both stores; the file is read again by another object."""
    await work(InMemoryCheckpointer())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        await work(SQLiteCheckpointer(path))
        options = CheckpointOptions(SQLiteCheckpointer(path), "other")
        print(options.resolved_run_id)
        print((await Runner.run(agent("saved"), "Go.", checkpoint=options)).output)
        again = CheckpointOptions(checkpointer=SQLiteCheckpointer(str(path)), run_id="other")
        print((await Runner.run(agent("lost"), "Go.", checkpoint=again)).output)


asyncio.run(main())
