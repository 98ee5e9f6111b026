"""What the tests of saved runs share: stores that count, fail or lack something, short runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia import CheckpointOptions, InMemoryCheckpointer, Runner, tool
from tests.runtime.support import events_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia import Agent, RunHead, RunSnapshot, TranscriptEntry
    from lovia.events import Event


class Watched(InMemoryCheckpointer):
    """A checkpointer that keeps the heads it was given and how many entries came with each.

    `fail_at` numbers the saves that raise, from 1.
    """

    def __init__(self, *fail_at: int) -> None:
        super().__init__()
        self.heads: list[RunHead] = []
        self.tails: list[int] = []
        self._fail_at = fail_at

    async def append(self, run_id: str, entries: list[TranscriptEntry], head: RunHead) -> None:
        """Save, or fail."""
        if len(self.heads) + 1 in self._fail_at:
            self._fail_at = tuple(
                number for number in self._fail_at if number != len(self.heads) + 1
            )
            raise OSError("disk full")
        self.heads.append(head)
        self.tails.append(len(entries))
        await super().append(run_id, entries, head)


class Plain:
    """A checkpointer as earlier releases had them: three methods, and no log of calls."""

    def __init__(self) -> None:
        self.runs: dict[str, tuple[list[TranscriptEntry], str]] = {}

    async def append(self, run_id: str, entries: list[TranscriptEntry], head: RunHead) -> None:
        """Save the head as JSON."""
        kept, _ = self.runs.get(run_id, ([], ""))
        self.runs[run_id] = ([*kept, *entries], head.to_json())

    async def load(self, run_id: str) -> RunSnapshot | None:
        """Put the snapshot together."""
        from lovia import RunHead, RunSnapshot

        if run_id not in self.runs:
            return None
        entries, head = self.runs[run_id]
        return RunSnapshot.from_parts(run_id, list(entries), RunHead.from_json(head))

    async def delete(self, run_id: str) -> None:
        """Forget the run."""
        self.runs.pop(run_id, None)


@tool
async def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


async def saved_run(
    agent: Agent[Any],
    store: Any,
    react: Callable[[Event], None] | None = None,
    *,
    run_id: str = "r",
    **options: Any,
) -> tuple[list[Event], Any]:
    """Run an agent with a checkpointer; return its events, and its result or error."""
    checkpoint = options.pop("checkpoint", None) or CheckpointOptions(store, run_id)
    handle = Runner.stream(agent, options.pop("input", "go"), checkpoint=checkpoint, **options)
    seen = await events_of(handle, react)
    try:
        return seen, await handle.result()
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return seen, error
