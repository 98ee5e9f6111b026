"""The provider refused the request: cut harder, with a shorter tail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lovia.context.archive.timed import timed
from lovia.context.policy import PolicyContext, Pressure, StageResult
from lovia.context.stages.summarising import (
    FoldPlan,
    SummaryStageResult,
    foldable_units,
    gains_of,
    movable_room,
    run_fold,
)
from lovia.context.stages.tool_result_budget import offload
from lovia.context.summarizer import LLMSummarizer, Summarizer
from lovia.context.summarizer.folding import SUMMARY_SECONDS
from lovia.context.view.decisions import Clipped, Decisions, Replacement
from lovia.context.view.rendering import replacement_entry
from lovia.context.view.source import KEPT_TOO, Source, advance, stage_input
from lovia.transcript.entries import ToolCallEntry, ToolResultEntry, TranscriptEntry

if TYPE_CHECKING:
    from lovia.context.archive import CompactionArchive
    from lovia.transcript.pairing import Unit

__all__ = ["ReactiveSummaryStage"]

#: A result or a call above this share of the target is shrunk before anything is summarised.
_GIANT_SHARE = 0.25
_TAIL_SHARE = 0.4
_INITIAL_SHARE = 0.05


class ReactiveSummaryStage:
    """Shrinks single giants, folds everything before a short tail, and clips that if it must.

    Args:
        summarizer: Writes the summary; ``None``: the run's own model.
        keep_initial: First entries that stay, the leading block included.
        keep_recent: Entries at the end that stay.
        preview_chars: Characters that a shrunk result or call keeps.
        archive: Keeps the whole text of shrunk results.
        max_failures: Consecutive failed summaries at which the circuit breaker opens.
        keep_tools: Results of these tools stay, unless the request would not fit the window.
        timeout: Seconds that one call of the summarizer may take; ``None``: no limit.
    """

    name = "reactive_summary"
    reactive_only = True

    def __init__(
        self,
        summarizer: Summarizer | None = None,
        *,
        keep_initial: int = 3,
        keep_recent: int = 8,
        preview_chars: int = 2_000,
        archive: CompactionArchive | None = None,
        max_failures: int = 3,
        keep_tools: frozenset[str] = frozenset(),
        timeout: float | None = SUMMARY_SECONDS,
    ) -> None:
        self.summarizer: Summarizer = summarizer or LLMSummarizer()
        self.keep_initial = keep_initial
        self.keep_recent = keep_recent
        self.preview_chars = preview_chars
        self.archive: CompactionArchive | None = timed(archive)
        self.max_failures = max_failures
        self.keep_tools = keep_tools
        self.timeout = timeout

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Make a refused request smaller; inside a pipeline it waits for a refusal."""
        if ctx.pressure is not None and not ctx.pressure.reactive:
            return StageResult(entries)
        step = _Step(*stage_input(entries, ctx))
        before = step.pressure.request
        if step.pressure.target is not None:
            step = await self._shrink(step, step.pressure.target * _GIANT_SHARE, ctx)
        step = await self._summarise(step, ctx)
        if step.pressure.over_window:
            step = await self._shrink(step, 0, ctx)
        if step.pressure.over_window and self.keep_tools:
            step = await self._shrink(step, 0, ctx, kept_too=True)
        result = step.fold or SummaryStageResult(entries)
        result.entries = step.source.given.entries if step.changed else entries
        result.changed = step.changed
        result.tokens_freed_estimate = before - step.pressure.request
        result.note = "; ".join(step.notes) or None
        return result

    async def _shrink(
        self, step: _Step, threshold: float, ctx: PolicyContext, *, kept_too: bool = False
    ) -> _Step:
        """Put markers in the place of the largest results and calls, down to the target."""
        changes: dict[int, Replacement] = {}
        request, target = step.pressure.request, step.pressure.target
        for index, size in _giants(step, threshold, frozenset() if kept_too else self.keep_tools):
            if target is not None and request <= target:
                break
            original = step.source.transcript[index]
            how = await self._smaller(original, ctx)
            gain = size - step.pressure.size([replacement_entry(original, how, index)])
            if gain > 0:
                changes[index] = how
                request -= gain
        if not changes:
            return step
        note = f"{len(changes)} oversized results or calls shrunk"
        note = f"{note}, {KEPT_TOO}" if kept_too else note
        return step.after(step.source.decisions.substitute(changes), note)

    async def _smaller(self, entry: TranscriptEntry, ctx: PolicyContext) -> Replacement:
        if isinstance(entry, ToolCallEntry):
            return Clipped(self.preview_chars)
        return await offload(entry, self.archive, self.preview_chars, ctx)

    async def _summarise(self, step: _Step, ctx: PolicyContext) -> _Step:
        """Fold everything before a short tail while the request is above the target."""
        pressure, source = step.pressure, step.source
        if pressure.target is not None and not pressure.over_target:
            return step
        plan = self._plan(pressure, source)
        if not plan.units:
            return step
        fold = await run_fold(
            plan,
            summarizer=self.summarizer,
            pressure=pressure,
            source=source,
            ctx=ctx,
            limit=self.max_failures,
            seconds=self.timeout,
        )
        step = step.after(fold.decisions, fold.note)
        return replace(step, fold=fold)

    def _plan(self, pressure: Pressure, source: Source) -> FoldPlan:
        """Leave kept tools alone where that is enough for the window."""
        held = source.keeping(self.keep_tools)
        units = self._units(pressure, held)
        gain = gains_of(units, held, pressure)[-1] if units else 0.0
        limit = pressure.window
        if not self.keep_tools or limit is None or pressure.request - gain <= limit:
            return FoldPlan(units, reactive=True)
        return FoldPlan(self._units(pressure, source), reactive=True, note=KEPT_TOO)

    def _units(self, pressure: Pressure, source: Source) -> list[Unit]:
        room = movable_room(pressure, source)
        initial = None if room is None else room * _INITIAL_SHARE
        tail = None if room is None else int(room * _TAIL_SHARE)
        start = source.initial_stop(self.keep_initial, initial, pressure.entry_size)
        return foldable_units(
            source, start, source.tail_start(self.keep_recent, tail, pressure.entry_size)
        )


@dataclass(frozen=True)
class _Step:
    """Where the stage stands: pressure and view after what it did so far."""

    pressure: Pressure
    source: Source
    changed: bool = False
    notes: tuple[str, ...] = ()
    fold: SummaryStageResult | None = None

    def after(self, decisions: Decisions | None, note: str | None) -> _Step:
        notes = (*self.notes, note) if note else self.notes
        if decisions is None:
            return replace(self, notes=notes)
        pressure, source = advance(self.pressure, self.source, decisions)
        return _Step(pressure, source, changed=True, notes=notes, fold=self.fold)


def _giants(step: _Step, threshold: float, kept: frozenset[str]) -> list[tuple[int, int]]:
    """Return index and tokens of shown results and calls above a size, largest first.

    Those of ``kept`` tools are not among them.
    """
    source = step.source
    shown = zip(source.given.sources, source.given.entries, strict=True)
    sizes = [
        (index, step.pressure.size([entry]))
        for index, entry in shown
        if index >= 0
        and isinstance(entry, (ToolCallEntry, ToolResultEntry))
        and index not in source.decisions.replaced
        and index not in source.fixed
        and source.tool_of(index) not in kept
    ]
    return sorted(((k, n) for k, n in sizes if n > threshold), key=lambda item: (-item[1], item[0]))
