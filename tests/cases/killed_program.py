"""A run whose process dies while a summary is written.

A program of its own: the process kills itself in the middle of the n-th summary, so that nothing
can tidy up, and what is left are the files of its session and its checkpoints.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia import CheckpointOptions, Runner, SQLiteCheckpointer, SQLiteSession, tool
from lovia.testing import ScriptedProvider, call, text
from tests.cases.support import policy_of
from tests.context.summarizer.fakes import GOOD
from tests.notation import COUNTER, U, words
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia import RunHandle
    from lovia.testing import ScriptedRequest

PAGES: Final = 30


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + words(150, f"p{page}")


def reader(on_summary: Callable[[ScriptedRequest], str], first: int = 0) -> Any:
    """Return an agent that reads the pages from the first one on, more than its window holds."""
    calls = (call("read", {"page": n}, call_id=f"c{n}") for n in range(first, PAGES))
    provider = ScriptedProvider(
        [*calls, text("all read")],
        window=3_000,
        usage="counted",
        summarize=on_summary,
        counter=COUNTER,
    )
    policy = policy_of(
        summarizer=None, max_entries=None, keep_recent_tool_results=30, keep_recent_entries=400
    )
    return scripted(provider=provider, tools=[read], context_policy=policy)


def started(agent: Any, store: SQLiteCheckpointer, session: SQLiteSession) -> RunHandle:
    """Begin the run, or go on with it."""
    checkpoint = CheckpointOptions(store, "r")
    start: Any = [U("read all pages")]
    return Runner.stream(agent, start, session=session, session_id="s", checkpoint=checkpoint)


async def main(folder: Path, deadly: int) -> None:
    """Run until the summary of that number is asked for, and die."""
    asked = 0

    def on_summary(request: ScriptedRequest) -> str:
        nonlocal asked
        asked += 1
        if asked == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return GOOD

    path = folder / "runs.db"
    async with SQLiteCheckpointer(path) as store, SQLiteSession(path) as session:
        await started(reader(on_summary), store, session).result()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]), backend=sys.argv[3])
