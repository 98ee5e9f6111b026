"""One saved run of so many entries; the same program for this project and for the 0.9 line.

The model asks for one tool call a turn and gets 1 kB back, until the transcript is long enough.
Seconds are those that the checkpointer took, the processor's beside those of the clock. Bytes are
all that the process wrote (Linux), or what the files have at the end (elsewhere).

    python saved_run.py '{"wal": true}' 1000 10000        options of the checkpointer, sizes
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lovia import Agent, CheckpointOptions, Runner, SQLiteCheckpointer, tool
from lovia.testing import ScriptedProvider, call, text

_IO = Path("/proc/self/io")
_RESULT = "the build passed and the report was written to the usual place; " * 16


class Measured(SQLiteCheckpointer):
    """A checkpointer that adds up the time of its saves."""

    seconds = 0.0
    cpu_seconds = 0.0
    saves = 0

    async def append(self, run_id: str, entries: Any, head: Any) -> Any:
        """Save, and measure."""
        begin, cpu = time.perf_counter(), time.process_time()
        written = await super().append(run_id, entries, head)
        self.seconds += time.perf_counter() - begin
        self.cpu_seconds += time.process_time() - cpu
        self.saves += 1
        return written


@tool
async def look() -> str:
    """Look."""
    return _RESULT


def written_by_this_process() -> int:
    """Return the bytes of all write calls so far; 0 where the system does not say."""
    if not _IO.exists():
        return 0
    lines = dict(line.split(": ") for line in _IO.read_text(encoding="ascii").splitlines())
    return int(lines["wchar"])


def size_of_files(folder: Path, name: str) -> int:
    """Return the bytes of a database and the files beside it."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.name.startswith(name))


async def measure(entries: int, folder: Path, settings: dict[str, Any]) -> dict[str, float]:
    """Run to the end and return what saving took."""
    turns = (entries - 2) // 2
    provider = ScriptedProvider([*(call("look", {}) for _ in range(turns)), text("done")])
    agent: Agent[Any] = Agent(name="bot", model=provider, tools=[look])
    path = folder / f"{entries}.db"
    store = Measured(path, **settings)
    options = CheckpointOptions(store, "r")
    before = written_by_this_process()
    result = await Runner.run(agent, "go", max_turns=turns + 1, checkpoint=options)
    files = size_of_files(folder, path.name)
    return {
        "entries": len(result.entries),
        "saves": store.saves,
        "seconds": store.seconds,
        "cpu_seconds": store.cpu_seconds,
        "bytes": written_by_this_process() - before or files,
    }


async def main(settings: dict[str, Any], sizes: list[int]) -> None:
    """Measure all sizes and print the result as JSON."""
    try:
        known = version("lovia")
    except PackageNotFoundError:
        known = "checkout"
    with tempfile.TemporaryDirectory() as folder:
        await measure(102, Path(folder), settings)  # loads everything
        rows = [await measure(size, Path(folder), settings) for size in sizes]
    json.dump({"name": "lovia", "version": known, "rows": rows}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # nothing to tidy up: files and threads are this process's alone


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1]), [int(size) for size in sys.argv[2:]]))
