"""What the processes of the tests in this folder do, each started as a program of its own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import anyio

from lovia import Agent, CompactingContextPolicy, InputEntry, Runner, Usage, compact_session
from lovia.context.stages import AutoSummaryStage
from lovia.errors import CheckpointConflict, SessionConflict
from lovia.stores import LogMark, PolicyMemory, RunHead, SQLiteCheckpointer, SQLiteSession
from lovia.testing import ScriptedProvider, text
from lovia.transcript import validate_view
from lovia.transcript.digest import PrefixChain

if TYPE_CHECKING:
    from lovia import TranscriptEntry

SUMMARY = "## Goal\nTalk.\n\n## State\nTalked.\n\n## Planned\nTalk on."


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


def _agent(turns: int) -> tuple[Agent[Any], ScriptedProvider]:
    """Return an agent whose conversation soon outgrows its model's window."""
    said = [text("and so it is, as was said before. " * 20) for _ in range(turns)]
    provider = ScriptedProvider(said, window=1_500, usage="counted", summarize=SUMMARY)
    policy = CompactingContextPolicy(stages=[AutoSummaryStage(keep_recent=4)])
    return Agent("bot", model=provider, context_policy=policy), provider


async def converse(path: str, name: str, runs: int) -> object:
    """Run an agent in one conversation; return how many summaries that took."""
    agent, provider = _agent(runs)
    async with SQLiteSession(path) as session:
        for number in range(runs):
            asked = f"{name}-{number}: " + "what does this come to? " * 20
            result = await Runner.run(agent, asked, session=session, session_id="s")
            validate_view(provider.requests[-1].entries, transcript=result.entries[:-1])
    return sum(request.is_summary for request in provider.requests)


async def compact(path: str, rounds: int) -> object:
    """Compact the conversation between its runs; return how often others were always first."""
    agent, _ = _agent(1)
    lost = 0
    async with SQLiteSession(path) as session:
        for _ in range(rounds):
            try:
                await compact_session(session, "s", agent=agent)
            except SessionConflict:
                lost += 1
            await anyio.sleep(0.01)
    return lost


def main(what: str, *arguments: str) -> None:
    """Do one of the above and write what came of it as JSON."""
    work: Any = {
        "talk": talk,
        "count": count,
        "save": save,
        "converse": converse,
        "compact": compact,
    }[what]
    typed = [int(text) if text.isdigit() else text for text in arguments]
    json.dump(anyio.run(work, *typed), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
