"""The 0.9 line's default policy; runs in an environment of its own, which holds that package."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from workload import SIZES, SUMMARY, TURNS, WINDOW, median_ms, messages, report, timed

from lovia.context import Compaction, CompactionRequest  # type: ignore[attr-defined]
from lovia.transcript import AssistantTextEntry, InputEntry


class _Instant:
    async def summarize(self, entries: object, *, req: object, prior_summary: object = None) -> str:
        return SUMMARY


def _entries(count: int) -> list[object]:
    return [
        InputEntry("user", text) if role == "user" else AssistantTextEntry(text)
        for role, text in messages(count)
    ]


async def main() -> None:
    """Measure all sizes and print the result."""
    rows = {}
    for size in SIZES:
        entries = _entries(size)
        policy, scratch = Compaction(context_window=10**12, summarizer=_Instant()), {}
        await policy.compact(CompactionRequest(entries, scratch=scratch))
        turns = []
        for number in range(TURNS):
            entries.append(InputEntry("user", f"turn {number}"))
            request = CompactionRequest(entries, scratch=scratch)
            turns.append(await timed(lambda: policy.compact(request)))  # noqa: B023
        fresh = CompactionRequest(_entries(size), scratch={})
        compacting = Compaction(context_window=WINDOW, compact_at=2_000, compact_to=1_000,
                                summarizer=_Instant())  # fmt: skip
        rows[size] = {
            "turn_ms": median_ms(turns),
            "first_pass_s": await timed(lambda: compacting.compact(fresh)),  # noqa: B023
        }
    report("lovia 0.9", version("lovia"), rows)


asyncio.run(main())
