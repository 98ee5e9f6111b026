"""Tool results that are too large to send are archived as soon as they arrive."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from lovia.context.archive.timed import timed
from lovia.context.archive.trying import try_to_keep
from lovia.context.policy import PolicyContext, StageResult
from lovia.context.view.decisions import Clipped, Persisted, Replacement
from lovia.context.view.source import KEPT_TOO, Source, counted, stage_input
from lovia.transcript.entries import ToolResultEntry, TranscriptEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lovia.context.archive import CompactionArchive

__all__ = ["ToolResultBudgetStage", "offload"]


class ToolResultBudgetStage:
    """Archives large tool results that no request held yet, and shows a preview in their place.

    It acts on every newly arrived batch whatever the size of the request, because it changes only
    what was never sent and so breaks no prompt cache. It runs before retention: what retention
    replaced by a short marker could no longer be archived.

    Args:
        budget_chars: Characters that the results of one batch may have together; beyond it the
            largest go first.
        large_chars: Characters above which a single result goes.
        preview_chars: Characters of the preview.
        archive: Keeps the whole text; without one the marker promises nothing.
        keep_tools: Results of these tools stay whole unless the request would not fit the window.
    """

    name = "tool_result_budget"
    on_arrival = True

    def __init__(
        self,
        *,
        budget_chars: int = 200_000,
        large_chars: int = 20_000,
        preview_chars: int = 2_000,
        archive: CompactionArchive | None = None,
        keep_tools: frozenset[str] = frozenset(),
    ) -> None:
        self.budget_chars = budget_chars
        self.large_chars = large_chars
        self.preview_chars = preview_chars
        self.archive: CompactionArchive | None = timed(archive)
        self.keep_tools = keep_tools

    def wants(self, new: Sequence[TranscriptEntry]) -> bool:
        """Tell whether newly arrived entries give it anything to do (cheap: lengths only)."""
        runs = groupby(new, key=lambda entry: isinstance(entry, ToolResultEntry))
        batches = [[_chars(entry) for entry in run] for is_result, run in runs if is_result]
        return any(
            max(sizes) > self.large_chars or sum(sizes) > self.budget_chars
            for sizes in batches
            if max(sizes) > self.preview_chars
        )

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Replace what is too large by its marker."""
        pressure, source = stage_input(entries, ctx)
        kept = frozenset() if pressure.over_window else self.keep_tools
        chosen = self._choose(source, kept)
        changes: dict[int, Replacement] = {}
        for index in chosen:
            changes[index] = await offload(
                source.transcript[index], self.archive, self.preview_chars, ctx
            )
        if not changes:
            return StageResult(entries)
        view = source.preview(source.decisions.substitute(changes))
        freed = pressure.size(entries) - pressure.size(view.entries)
        chars = sum(_chars(source.transcript[index]) for index in chosen)
        note = f"{counted(len(chosen), 'large tool result')} ({chars:,} characters) "
        note += _kept_as(changes.values())
        if any(source.tool_of(index) in self.keep_tools for index in chosen):
            note += f", {KEPT_TOO}"
        return StageResult(view.entries, changed=True, tokens_freed_estimate=freed, note=note)

    def _choose(self, source: Source, kept: frozenset[str]) -> list[int]:
        """Return the results to replace: the oversized, then the largest of oversized batches.

        Results of ``kept`` tools are not touched, and not counted.
        """
        shown = {k for k in source.given.sources if k >= source.new_from}
        candidates = {
            index: _chars(source.transcript[index])
            for index in shown
            if isinstance(source.transcript[index], ToolResultEntry)
            and index not in source.fixed
            and index not in source.decisions.replaced
            and source.tool_of(index) not in kept
        }
        limit = max(self.large_chars, self.preview_chars)  # below it the marker would be larger
        chosen = {index for index, size in candidates.items() if size > limit}
        batches: dict[int, list[int]] = {}
        for index in candidates:
            batches.setdefault(source.view.pairing.unit_of[index], []).append(index)
        for members in batches.values():
            chosen.update(self._over_budget({k: candidates[k] for k in members}, chosen))
        return sorted(chosen)

    def _over_budget(self, sizes: dict[int, int], chosen: set[int]) -> list[int]:
        total = sum(self.preview_chars if k in chosen else size for k, size in sizes.items())
        extra: list[int] = []
        for index in sorted(sizes, key=lambda k: (-sizes[k], k)):
            if total <= self.budget_chars or sizes[index] <= self.preview_chars:
                break
            if index not in chosen:
                extra.append(index)
                total -= sizes[index] - self.preview_chars
        return extra


async def offload(
    entry: TranscriptEntry, archive: CompactionArchive | None, preview: int, ctx: PolicyContext
) -> Replacement:
    """Archive a result and return what its view entry shows.

    A failing archive never blocks a pass, and its marker never promises what is not there.
    """
    if archive is None or not isinstance(entry, ToolResultEntry):
        return Clipped(preview)
    save = partial(archive.save_tool_result, text_of(entry), call_id=entry.call_id, ctx=ctx)
    ref = await try_to_keep("A tool result", save)
    return Clipped(preview) if ref is None else Persisted(ref.uri, preview)


def _kept_as(changes: Collection[Replacement]) -> str:
    """Say what became of results, by what is really there."""
    archived = sum(isinstance(how, Persisted) for how in changes)
    if archived == len(changes):
        return "archived"
    cut = "cut to a preview"
    return f"{cut}, {archived} of them archived" if archived else cut


def _chars(entry: TranscriptEntry) -> int:
    """Return the characters of a result's text, its text parts included."""
    if not isinstance(entry, ToolResultEntry):
        return 0
    return len(entry.output) + sum(len(getattr(part, "text", "")) for part in entry.parts)
