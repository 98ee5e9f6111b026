"""When a conversation has too many entries, its middle gives way to a placeholder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, StageResult
from lovia.context.view.source import counted, ranges_of, stage_input

if TYPE_CHECKING:
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["MiddleSnipStage"]


class MiddleSnipStage:
    """Keeps the beginning and the recent window, and replaces the middle by a placeholder.

    What it takes away stays recallable, and a later summary reads it from the transcript.

    Args:
        max_entries: Entries of the view above which it acts; ``None``: only under token pressure.
        keep_initial: Entries kept at the beginning, the leading system block included.
        keep_recent: Entries kept at the end.
        keep_tools: Calls of these tools stay with their results.
    """

    name = "middle_snip"

    def __init__(
        self,
        *,
        max_entries: int | None = 80,
        keep_initial: int = 3,
        keep_recent: int = 40,
        keep_tools: frozenset[str] = frozenset(),
    ) -> None:
        self.max_entries = max_entries
        self.keep_initial = keep_initial
        # Half of the limit at the most, or the next entry would start the next pass.
        self.keep_recent: int = (
            keep_recent if max_entries is None else min(keep_recent, max(max_entries // 2, 1))
        )
        self.keep_tools = keep_tools

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Snip the middle when there are too many entries or the request is over the trigger."""
        pressure, source = stage_input(entries, ctx)
        source = source.keeping(self.keep_tools)
        crowded = self.max_entries is not None and len(entries) > self.max_entries
        if not (
            crowded or (pressure.engaged and (pressure.target is None or pressure.over_target))
        ):
            return StageResult(entries)
        start = source.initial_stop(self.keep_initial, None, pressure.counter.entry)
        stop = source.tail_start(self.keep_recent, None, pressure.counter.entry)
        hidden = source.decisions.hidden
        units = [
            unit
            for unit in source.units(start, stop)
            if any(index not in hidden for index in unit.indices())
        ]
        if not units:
            return StageResult(entries)
        view = source.preview(source.decisions.snip(ranges_of(units)))
        freed = pressure.size(entries) - pressure.size(view.entries)
        if freed <= 0 and not crowded:
            return StageResult(entries)
        count = sum(len(unit.indices()) for unit in units)
        note = f"{counted(count, 'entry', 'entries')} in the middle replaced by a placeholder"
        return StageResult(view.entries, changed=True, tokens_freed_estimate=freed, note=note)
