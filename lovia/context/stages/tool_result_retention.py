"""Old tool results give way to short markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, Pressure, StageResult
from lovia.context.view.decisions import Cleared, Replacement
from lovia.context.view.rendering import replacement_entry
from lovia.context.view.source import Source, counted, stage_input
from lovia.transcript.entries import ToolResultEntry, TranscriptEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ToolResultRetentionStage"]


class ToolResultRetentionStage:
    """Replaces older tool results by a marker, oldest first, until the request is at the target.

    Args:
        keep_recent: The newest results that always stay; so do all results of the newest step,
            which the model has not seen yet.
        keep_tools: Results of these tools are never cleared.
    """

    name = "tool_result_retention"

    def __init__(self, *, keep_recent: int = 3, keep_tools: frozenset[str] = frozenset()) -> None:
        self.keep_recent = keep_recent
        self.keep_tools = keep_tools

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Clear old results while the request is above the target."""
        pressure, source = stage_input(entries, ctx)
        if not pressure.engaged or (pressure.target is not None and not pressure.over_target):
            return StageResult(entries)
        changes, freed = self._choose(pressure, source)
        if not changes:
            return StageResult(entries)
        view = source.preview(source.decisions.substitute(changes))
        note = f"{counted(len(changes), 'older tool result')} cleared"
        return StageResult(view.entries, changed=True, tokens_freed_estimate=freed, note=note)

    def _choose(self, pressure: Pressure, source: Source) -> tuple[dict[int, Replacement], int]:
        excess = None if pressure.target is None else pressure.request - pressure.target
        changes: dict[int, Replacement] = {}
        freed = 0
        for position, index in self._candidates(source):
            if excess is not None and freed >= excess:
                break
            marker = replacement_entry(source.transcript[index], Cleared(), index)
            gain = pressure.size([source.given.entries[position]]) - pressure.size([marker])
            if gain > 0:
                changes[index] = Cleared()
                freed += gain
        return changes, freed

    def _candidates(self, source: Source) -> Iterator[tuple[int, int]]:
        """Yield view position and transcript index of results that may be cleared, oldest first."""
        transcript, pairing = source.transcript, source.view.pairing
        newest_step = pairing.units[-1].start if pairing.units else 0
        results = [
            (position, index)
            for position, index in enumerate(source.given.sources)
            if index >= 0 and isinstance(transcript[index], ToolResultEntry)
        ]
        for position, index in results[: max(len(results) - self.keep_recent, 0)]:
            kept = source.tool_of(index) in self.keep_tools
            cleared = isinstance(source.decisions.replaced.get(index), Cleared)
            if index < newest_step and index not in source.fixed and not kept and not cleared:
                yield position, index
