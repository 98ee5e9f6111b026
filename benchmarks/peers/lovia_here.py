"""This project's default policy, in the same terms as its peers."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

sys.path.append(str(Path(__file__).resolve().parent.parent))

from workload import SIZES, SUMMARY, TURNS, WINDOW, median_ms, messages, report, timed  # type: ignore[import-not-found]

from lovia.context import AutoSummaryStage, CompactingContextPolicy, PolicyContext
from lovia.tokens import ByteCounter
from lovia.transcript import AssistantTextEntry, InputEntry

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry


class _Instant:
    async def summarize(
        self,
        entries: object,
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> str:
        return str(SUMMARY)


def _entries(count: int) -> list[TranscriptEntry]:
    return [
        InputEntry("user", text) if role == "user" else AssistantTextEntry(text)
        for role, text in messages(count)
    ]


def _policy(window: int, **settings: Any) -> CompactingContextPolicy:
    return CompactingContextPolicy(
        window, max_entries=None, token_counter=ByteCounter(), summarizer=_Instant(), **settings
    )


async def _turns(size: int) -> list[float]:
    entries, policy = _entries(size), _policy(10**12)
    state: dict[str, Any] = {}
    await policy.apply(entries, ctx=PolicyContext(state=state))
    seconds = []
    for number in range(TURNS):
        entries.append(InputEntry("user", f"turn {number}"))
        ctx = PolicyContext(state=state)
        seconds.append(await timed(partial(policy.apply, entries, ctx=ctx)))
    return seconds


async def _first_pass(size: int) -> float:
    """Let a summary alone do the work, as the peers do, so that everything is covered by it."""
    policy = _policy(WINDOW, stages=[AutoSummaryStage(_Instant())])
    entries = _entries(size)
    return float(await timed(partial(policy.apply, entries, ctx=PolicyContext())))


def _version() -> str:
    try:
        return version("lovia")
    except PackageNotFoundError:
        return "checkout"


async def main() -> None:
    """Measure all sizes and print the result."""
    rows = {
        size: {"turn_ms": median_ms(await _turns(size)), "first_pass_s": await _first_pass(size)}
        for size in SIZES
    }
    report("lovia", _version(), rows)


if __name__ == "__main__":
    anyio.run(main)
