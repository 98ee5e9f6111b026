"""What the processes of the tests in this folder do, each started as a program of its own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import anyio

from lovia import InputEntry, Usage
from lovia.errors import CheckpointConflict
from lovia.stores import LogMark, PolicyMemory, RunHead, SQLiteCheckpointer, SQLiteSession
from lovia.transcript.digest import PrefixChain

if TYPE_CHECKING:
    from lovia import TranscriptEntry


async def talk(path: str, name: str, runs: int) -> object:
    """Append runs to one conversation; return how often the memory was this process's."""
    won = 0
    async with SQLiteSession(path) as session:
        for number in range(runs):
            seen, _ = await session.recall("s")
            entries: list[TranscriptEntry] = [
                InputEntry("user", f"{name} {number} {i}") for i in range(3)
            ]
            run_id = f"{name}-{number}"
            memory = PolicyMemory({"by": run_id}, 0, "")
            await session.append("s", entries, run_id=run_id, memory=memory, seen=seen)
            await session.append("s", entries, run_id=run_id, memory=memory, seen=seen)
            _, newest = await session.recall("s")
            won += newest is not None and newest.state == {"by": run_id}
    return won


async def count(path: str, rounds: int) -> object:
    """Add one to a number in the memory, `rounds` times; return how often others were first."""
    lost = 0
    async with SQLiteSession(path) as session:
        for _ in range(rounds):
            while True:
                seen, old = await session.recall("s")
                number = 1 + (old.state["n"] if old is not None else 0)
                if await session.remember("s", PolicyMemory({"n": number}, 0, ""), seen=seen):
                    break
                lost += 1
    return lost


async def save(path: str, run_id: str, saves: int) -> object:
    """Save one run as if nobody else did; return how many saves and calls were this process's."""
    mine = begun = 0
    said: list[InputEntry] = []
    async with SQLiteCheckpointer(path) as store:
        for number in range(saves):
            entry = InputEntry("user", str(number))
            said.append(entry)
            log = LogMark(number + 1, number + 1, PrefixChain(said).value().hex())
            try:
                await store.append(run_id, [entry], RunHead("bot", Usage(), 0, log=log))
                mine += 1
            except CheckpointConflict:
                await anyio.sleep(0.001)
            try:
                await store.begin(run_id, number)
                begun += 1
            except CheckpointConflict:
                await anyio.sleep(0.001)
    return [mine, begun]


def main(what: str, *arguments: str) -> None:
    """Do one of the above and write what came of it as JSON."""
    work: Any = {"talk": talk, "count": count, "save": save}[what]
    typed = [int(text) if text.isdigit() else text for text in arguments]
    json.dump(anyio.run(work, *typed), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
