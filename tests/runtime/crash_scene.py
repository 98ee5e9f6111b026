"""A run that is killed at one save point after another, and gone on with by another process.

A program of its own: it loads everything once and forks a process for each life of the run. Agent
`a` answers with three calls that run side by side, a handoff to `b` among them; `b` looks something
up and answers. Everything that has an effect adds a line to a file. In the first life the handoff's
result is kept first, then that of `quick`: so the calls of the store have the same order each time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from lovia import CheckpointOptions, Handoff, Runner, SQLiteCheckpointer, SQLiteSession, tool
from lovia.testing import ScriptedProvider, batch, call, text
from lovia.transcript import validate_view
from lovia.transcript.entries import ToolResultEntry
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lovia import Agent, RunContext, RunHead, TranscriptEntry
    from lovia.testing import ScriptedRequest


@dataclass(frozen=True)
class Point:
    """A save point: the `number`-th call of the store is `operation`; killed `when` it commits."""

    number: int
    operation: str
    when: str


@dataclass(frozen=True)
class Life:
    """What became of a run that was killed at a point and gone on with."""

    point: Point
    idempotent: bool
    killed: bool
    output: str
    final_agent: str
    turns: int
    effects: dict[str, int]
    results: dict[str, str]
    segments: int
    replayed: str
    effects_of_replay: int


class Mortal(SQLiteCheckpointer):
    """A checkpointer whose process dies at one of its calls."""

    def __init__(self, path: Path, point: Point | None) -> None:
        super().__init__(path)
        self.point = point
        self.seen: list[str] = []
        self.kept = (anyio.Event(), anyio.Event())

    async def _at(self, operation: str, work: Callable[[], Any]) -> Any:
        self.seen.append(operation)
        here = self.point is not None and len(self.seen) == self.point.number
        if here and self.point is not None and self.point.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = await work()
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    async def append(self, run_id: str, entries: list[TranscriptEntry], head: RunHead) -> int:
        """Save, or die before or after."""
        work = super().append
        return int(await self._at("append", lambda: work(run_id, entries, head)))

    async def begin(self, run_id: str, position: int) -> None:
        """Note a call, or die before or after."""
        work = super().begin
        await self._at("begin", lambda: work(run_id, position))

    async def finish(self, run_id: str, position: int, result: ToolResultEntry) -> None:
        """Keep a result, or die before or after."""
        work = super().finish
        await self._at("finish", lambda: work(run_id, position, result))
        self.kept[self.seen.count("finish") - 1].set()


class Scene:
    """The agents of one life of the run, on the files in a folder.

    With `kept`, `quick` waits for the first of these events and `slow` for the second.
    """

    def __init__(
        self, folder: Path, idempotent: bool, kept: tuple[anyio.Event, anyio.Event] | None = None
    ) -> None:
        self.folder = folder
        self._idempotent = idempotent
        self._kept = kept

    def effect(self, name: str) -> None:
        """Have an effect that outlives the process."""
        with (self.folder / "effects").open("a") as file:
            file.write(f"{name}\n")

    def agent(self) -> Agent[Any]:
        """Return agent `a`, whose model knows from the request alone what to answer."""

        def answer_of_a(request: ScriptedRequest) -> Any:
            self.effect("model a")
            if any(isinstance(entry, ToolResultEntry) for entry in request.entries):
                return text("a answers")
            return batch(("slow", {}), ("transfer_to_b", {"reason": "money"}), ("quick", {}))

        def answer_of_b(request: ScriptedRequest) -> Any:
            self.effect("model b")
            known = {e.call_id for e in request.entries if isinstance(e, ToolResultEntry)}
            return text("done") if "call_look" in known else call("look")

        @tool
        async def slow() -> str:
            """Take longer than the others."""
            self.effect("slow")
            if self._kept:
                await self._kept[1].wait()
            return "slow is done"

        @tool
        async def quick() -> str:
            """Be done before."""
            self.effect("quick")
            if self._kept:
                await self._kept[0].wait()
            return "quick is done"

        @tool
        def look() -> str:
            """Look."""
            self.effect("look")
            return "seen"

        b = scripted(provider=ScriptedProvider([answer_of_b] * 9), name="b", tools=[look])

        def on_handoff(_args: dict[str, Any], ctx: RunContext[Any]) -> None:
            self.effect("handoff")
            self.effect(f"key {ctx.idempotency_key}")

        handoff = Handoff(b, on_handoff=on_handoff, idempotent=self._idempotent)
        return scripted(
            provider=ScriptedProvider([answer_of_a] * 9),
            name="a",
            tools=[slow, quick],
            handoffs=[handoff],
        )


async def live(folder: Path, point: Point | None, idempotent: bool) -> list[str]:
    """Run to the end, or until the point; return the calls of the store."""
    store = Mortal(folder / "runs.db", point)
    async with store, SQLiteSession(folder / "runs.db") as session:
        await Runner.run(
            Scene(folder, idempotent, store.kept).agent(),
            "pay",
            session=session,
            session_id="s",
            checkpoint=CheckpointOptions(store, "r"),
        )
    return store.seen


async def go_on(folder: Path, point: Point, idempotent: bool, killed: bool) -> dict[str, Any]:
    """Go on with the run, then ask for it once more, and tell what became of it."""
    path = folder / "runs.db"
    async with SQLiteCheckpointer(path) as store, SQLiteSession(path) as session:
        options: Any = {"session": session, "session_id": "s"}
        checkpoint = CheckpointOptions(store, "r")
        agent = Scene(folder, idempotent).agent
        result = await Runner.run(agent(), "pay", checkpoint=checkpoint, **options)
        validate_view(result.entries)
        effects = (folder / "effects").read_text().splitlines()
        again = await Runner.run(agent(), "pay", checkpoint=checkpoint, **options)
        segments = len(await session.segments("s"))
    after = (folder / "effects").read_text().splitlines()
    results = {e.call_id: e.output for e in result.entries if isinstance(e, ToolResultEntry)}
    became = Life(
        point=point,
        idempotent=idempotent,
        killed=killed,
        output=result.output,
        final_agent=result.final_agent.name,
        turns=result.turns,
        effects={name: effects.count(name) for name in sorted(set(effects))},
        results=results,
        segments=segments,
        replayed=again.output,
        effects_of_replay=len(after) - len(effects),
    )
    return asdict(became)


def forked(work: Callable[[], Any], answer: Path) -> int:
    """Do something in a process of its own, which leaves its answer in a file; return its end."""
    child = os.fork()
    if not child:
        code = 1
        try:
            answer.write_text(json.dumps(work()))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def deaths(operations: list[str]) -> Iterator[tuple[int, str, str, bool]]:
    """Yield number, name and side of each call of the store at which a run is to be killed.

    With an idempotent handoff only those at which it makes a difference: from the first note of a
    call to the first save after the notes.
    """
    first = operations.index("begin") + 1
    last = operations.index("append", first) + 1
    for number, operation in enumerate(operations, 1):
        for when in ("before", "after"):
            yield number, operation, when, False
            if first <= number <= last:
                yield number, operation, when, True


def main(folder: Path) -> None:
    """Kill the run at every call of its store, before and after, and write what became of it.

    The run lives on asyncio and goes on on trio, or the other way round.
    """
    answer = folder / "answer"

    def in_own_process(backend: str, work: Any, *args: Any) -> tuple[int, Any]:
        code = forked(lambda: anyio.run(work, *args, backend=backend), answer)
        return code, json.loads(answer.read_text()) if not code else None

    first = folder / "first"
    first.mkdir()
    code, operations = in_own_process("asyncio", live, first, None, False)
    assert code == 0, "the run does not even live undisturbed"
    lives = []
    for number, operation, when, idempotent in deaths(operations):
        point = Point(number, operation, when)
        backends = ["asyncio", "trio"] if number % 2 else ["trio", "asyncio"]
        own = folder / f"{number}-{when}-{idempotent}"
        own.mkdir()
        code, _ = in_own_process(backends[0], live, own, point, idempotent)
        killed = code == -signal.SIGKILL
        code, life = in_own_process(backends[1], go_on, own, point, idempotent, killed)
        assert code == 0, f"the run could not be gone on with at {point}"
        lives.append(life)
    json.dump(lives, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
