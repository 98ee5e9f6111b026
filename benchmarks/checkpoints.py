"""What saving a run costs as it grows: bytes and time of all saves of one run, by its length.

    python benchmarks/checkpoints.py                        this project alone
    python benchmarks/checkpoints.py --peer PYTHON          beside the lovia 0.9 of that Python
    python benchmarks/checkpoints.py --sizes 500 1000       other lengths, the largest one last

The run is the same for both: one tool call a turn, 1 kB of result, a SQLite checkpointer with a
write-ahead log. By default this project's saves survive a killed process and do not wait for the
disk; with `durable` they survive a power failure too, which is what the 0.9 line's saves do.
`growth` is how many times the cost of the run before it, which was half as long: 2 is linear. Times
are of this machine and this moment; the ratios are what to read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parent / "peers" / "saved_run.py"
SIZES = (2_500, 5_000, 10_000)


@dataclass(frozen=True)
class Candidate:
    """Whose saves are measured: a name, a Python, and options of its checkpointer."""

    name: str
    python: str
    settings: dict[str, Any]

    def measure(self, sizes: list[int]) -> list[dict[str, float]]:
        """Run the program and return a row for each size."""
        command = [self.python, str(PROGRAM), json.dumps(self.settings), *map(str, sizes)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows: list[dict[str, float]] = json.loads(done.stdout)["rows"]
        return rows


def show(name: str, rows: list[dict[str, float]], reference: list[dict[str, float]]) -> None:
    """Print a candidate's rows, their growth, and how many times the reference's they are."""
    for index, row in enumerate(rows):
        before = rows[index - 1] if index else None
        grown = [f"{row[key] / before[key]:5.2f}" if before else "     " for key in _SHOWN]
        ratio = [f"{row[key] / reference[index][key]:6.1f}" for key in _SHOWN]
        print(
            f"{name:20}{row['entries']:>8,.0f}{row['saves']:>8,.0f}"
            f"{row['bytes'] / 2**20:>9.1f} MiB {grown[0]} {ratio[0]}"
            f"{row['cpu_seconds']:>9.2f} s {grown[1]} {ratio[1]}"
            f"{row['seconds']:>9.2f} s {grown[2]} {ratio[2]}"
        )


_SHOWN = ("bytes", "cpu_seconds", "seconds")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peer", metavar="PYTHON", help="an environment with lovia==0.9.119")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="ENTRIES")
    options = parser.parse_args()
    candidates = [
        Candidate("lovia", sys.executable, {}),
        Candidate("lovia, durable", sys.executable, {"durable": True}),
    ]
    if options.peer:
        candidates.append(Candidate("lovia 0.9", options.peer, {"wal": True}))
    print(f"{'':20}{'entries':>8}{'saves':>8}{'written':>13} growth ratio", end="")
    print(f"{'processor':>11} growth ratio{'clock':>11} growth ratio")
    reference: list[dict[str, float]] = []
    for candidate in candidates:
        rows = candidate.measure(options.sizes)
        reference = reference or rows
        show(candidate.name, rows, reference)


if __name__ == "__main__":
    main()
