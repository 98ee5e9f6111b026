"""What the policy costs per turn and in its first pass, beside its peers, all in one run.

    python benchmarks/policy.py                  this project alone, and the two probes
    python benchmarks/policy.py --peers          and its peers, each in an environment of its own
    python benchmarks/policy.py --peers DIR      with the environments kept below DIR
    python benchmarks/policy.py --window TOKENS  the first pass with another window than 128,000

Settings for all: messages of about 1 kB, sizes from bytes, no limit of entries, a summarizer that
takes no time, everything but a short tail covered by the summary. Times are of this machine and
this moment; the ratios are what to read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import anyio

from lovia.context import CompactingContextPolicy, ExtractiveSummarizer, PolicyContext
from lovia.tokens import ByteCounter
from lovia.transcript import AssistantTextEntry, InputEntry, TranscriptEntry

HERE = Path(__file__).resolve().parent
PEERS = {
    "lovia09": "lovia==0.9.119",
    "langchain": "langchain==1.5.2",
    "agent_framework": "agent-framework-core==1.23.0",
}


def measure(python: str, peer: str) -> dict[str, Any]:
    """Run one peer's program and return what it printed."""
    command = [python, str(HERE / "peers" / f"{peer}.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def environment(peer: str, folder: Path) -> str:
    """Return the Python of a peer's environment, which is made at the first call."""
    home = folder / peer
    python = home / "bin" / "python"
    if not python.exists():
        print(f"setting up {PEERS[peer]} ...", flush=True)
        venv.create(home, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", PEERS[peer]]
        subprocess.run(install, check=True)
    return str(python)


def show(results: list[dict[str, Any]]) -> None:
    """Print times, and how many times this project's each of them is."""
    ours = results[0]["rows"]
    print(f"{'':28}{'entries':>9}{'per turn':>12}{'ratio':>8}{'first pass':>13}{'ratio':>8}")
    for result in results:
        name = f"{result['name']} {result['version']}"
        for size, row in result["rows"].items():
            turn, first = row["turn_ms"], row["first_pass_s"]
            turns = turn / ours[size]["turn_ms"]
            firsts = first / ours[size]["first_pass_s"]
            print(
                f"{name:28}{int(size):>9,}{turn:>9.3f} ms{turns:>8.1f}"
                f"{first:>11.3f} s{firsts:>8.1f}"
            )


class _CountedBytes(ByteCounter):
    """Counts how many texts were really estimated."""

    estimated = 0

    def text(self, text: str) -> int:
        self.estimated += 1
        return super().text(text)


def probe_counter() -> None:
    """Scan histories around a size at which bounded caches fall off a cliff, five times each."""
    for size in (8_000, 8_200):
        counter = _CountedBytes()
        entries = [InputEntry("user", f"{number} " + "word " * 800) for number in range(size)]
        counter.entries(entries)
        first = counter.estimated
        for _ in range(5):
            counter.entries(entries)
        print(
            f"counter probe: {size:,} entries, five scans: {counter.estimated - first} re-estimated"
        )


async def probe_prefix() -> None:
    """Let a conversation grow steadily for 20 turns past the trigger, and count prefix breaks."""
    policy = CompactingContextPolicy(
        64_000, token_counter=ByteCounter(), summarizer=ExtractiveSummarizer()
    )
    entries: list[TranscriptEntry] = [InputEntry("user", "Go on.")]
    state: dict[str, Any] = {}
    before: list[TranscriptEntry] = []
    breaks = turns = 0
    for turn in range(220):
        entries.append(AssistantTextEntry(f"answer {turn} " + "word " * 200))
        entries.append(InputEntry("user", f"question {turn} " + "word " * 200))
        view = (await policy.apply(entries, ctx=PolicyContext(state=state))).entries
        if turn >= 200:
            turns += 1
            breaks += view[: len(before)] != before
        before = list(view)
    print(f"prefix probe: {breaks} prefix breaks in {turns} turns of steady growth")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peers", nargs="?", const=str(HERE.parent / ".bench"), metavar="DIR")
    parser.add_argument("--window", type=int, metavar="TOKENS")
    given = parser.parse_args()
    folder = given.peers
    if given.window is not None:
        os.environ["LOVIA_BENCH_WINDOW"] = str(given.window)  # what the peers' programs read
    results = [measure(sys.executable, "lovia_here")]
    if folder is not None:
        results += [measure(environment(peer, Path(folder)), peer) for peer in PEERS]
    show(results)
    probe_counter()
    anyio.run(probe_prefix)


if __name__ == "__main__":
    main()
