"""The conversation that every policy is measured with; needs nothing but Python."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

SIZES = (1_000, 10_000, 100_000)
WINDOW = int(os.environ.get("LOVIA_BENCH_WINDOW", "128000"))  # tokens; of the first pass
TURNS = 9
SUMMARY = "A summary that takes no time to write."
_FILLER = "the build passed and the report was written to the usual place; "


def messages(count: int) -> Iterator[tuple[str, str]]:
    """Yield role and text of so many messages of about 1 kB, a user's and an answer in turn."""
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        yield role, f"message {number}: " + _FILLER * 16


def median_ms(seconds: list[float]) -> float:
    """Return the median in milliseconds."""
    return statistics.median(seconds) * 1_000


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds that one piece of work takes."""
    begin = time.perf_counter()
    await work()
    return time.perf_counter() - begin


def report(name: str, version: str, rows: dict[int, dict[str, float]]) -> None:
    """Print one peer's result for the benchmark that started it."""
    json.dump({"name": name, "version": version, "rows": rows}, sys.stdout)
