"""What the two summary stages share: which units to fold, and how a fold becomes a view."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, Pressure, StageResult
from lovia.context.summarizer.folding import FoldOutcome, FoldStep, fold
from lovia.context.view.decisions import Decisions, SummaryText
from lovia.context.view.source import Source, ranges_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.summarizer import Summarizer
    from lovia.context.summarizer.breaker import Breaker
    from lovia.transcript.entries import TranscriptEntry
    from lovia.transcript.pairing import Unit

__all__ = [
    "FoldPlan",
    "SummaryStageResult",
    "foldable_units",
    "gains_of",
    "movable_room",
    "run_fold",
]


@dataclass
class SummaryStageResult(StageResult):
    """A stage's result together with what its folds took.

    Attributes:
        outcome: What the folds did, or ``None`` when none was tried.
        breaker: The circuit breaker after them.
        summary: The text of the new summary, or ``None``.
        decisions: The decisions behind the new view, or ``None`` when nothing was folded.
        window: The window of the run's own model, where the refusal of a summary request named it.
    """

    outcome: FoldOutcome | None = None
    breaker: Breaker | None = None
    summary: str | None = None
    decisions: Decisions | None = None
    window: int | None = None


@dataclass(frozen=True)
class FoldPlan:
    """What a stage wants to have folded.

    Attributes:
        units: Units of the transcript, in order, that no summary covers.
        reactive: Whether the provider had refused the request.
        note: What people should know of it, or ``None``.
    """

    units: Sequence[Unit]
    reactive: bool = False
    note: str | None = None


def foldable_units(source: Source, start: int, stop: int) -> list[Unit]:
    """Return the units of a range that no summary covers yet, hidden ones included."""
    covers = source.decisions.covers
    units = source.units(start, stop)
    if not covers:
        return list(units)
    return [unit for unit in units if any(index not in covers for index in unit.indices())]


def entries_of(unit: Unit, transcript: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Return the entries of a unit, late results included."""
    entries = list(transcript[unit.start : unit.stop])
    if unit.late:
        entries += [transcript[index] for index in unit.late]
    return entries


def gains_of(units: Sequence[Unit], source: Source, pressure: Pressure) -> list[float]:
    """Return for each unit the tokens that leave the view when all up to it are folded."""
    sizes = [0] * len(source.transcript)
    shown = map(pressure.counter.entry, source.given.entries)
    for index, tokens in zip(source.given.sources, shown, strict=True):
        if index >= 0:
            sizes[index] = tokens
    ends = list(accumulate(sizes, initial=0))
    gains = (
        ends[unit.stop] - ends[unit.start] + sum([sizes[index] for index in unit.late])
        for unit in units
    )
    return [gain * pressure.scale for gain in accumulate(gains)]


def movable_room(pressure: Pressure, source: Source) -> float | None:
    """Return the tokens that a request may have beside what stays in it whatever is decided.

    What stays are instructions, tools, and everything that is fixed word for word. Where that is
    most of the target, half of what it leaves of the window is the room, so that the next pass does
    not come too late.

    Returns:
        The room, not below zero; ``None`` without a target.
    """
    if pressure.target is None:
        return None
    pairs = zip(source.given.sources, source.given.entries, strict=True)
    movable = pressure.size([entry for index, entry in pairs if index not in source.fixed])
    stays = pressure.request - movable
    limit = pressure.window or pressure.trigger or pressure.target
    return max(pressure.target - stays, (limit - stays) / 2, 0.0)


class _Folding:
    """Turns finished folds into decisions; the view that they give is made only when it is used."""

    def __init__(self, plan: FoldPlan, pressure: Pressure, source: Source) -> None:
        self._plan = plan
        self._pressure = pressure
        self._source = source
        self._done = 0
        self.decisions: Decisions | None = None
        self.summary: str | None = None

    def on_folded(self, step: FoldStep) -> bool:
        """Take in one finished fold; the fold always goes on."""
        if step.units_done > 0:
            folded = ranges_of(self._plan.units[self._done : step.units_done])
            self._done = step.units_done
            self.summary = step.summary
            text = SummaryText(step.summary, self._plan.reactive)
            self.decisions = (self.decisions or self._source.decisions).cover(folded, text)
            if self._pressure.keep is not None:
                self._pressure.keep(self.entries)
        return True

    def entries(self) -> list[TranscriptEntry]:
        """Return the view as it stands now."""
        if self.decisions is None:
            return self._source.given.entries
        return self._source.preview(self.decisions).entries


async def run_fold(
    plan: FoldPlan,
    *,
    summarizer: Summarizer,
    pressure: Pressure,
    source: Source,
    ctx: PolicyContext,
    limit: int,
    seconds: float | None,
) -> SummaryStageResult:
    """Fold the plan's units and return the view in which the summary stands for them.

    A finished fold is kept whatever happens to the next one. What the summary replaces leaves the
    view only with the fold that contains it.

    Args:
        plan: What to fold.
        summarizer: Writes the summary.
        pressure: The pass's pressure.
        source: The transcript behind the stage's input.
        ctx: The call.
        limit: Consecutive failures at which the circuit breaker opens.
        seconds: Seconds that one call of the summarizer may take; ``None``: no limit.
    """
    folding = _Folding(plan, pressure, source)
    prior = source.decisions.summary
    transcript = source.transcript
    outcome = await fold(
        [entries_of(unit, transcript) for unit in plan.units],
        summarizer=summarizer,
        ctx=ctx,
        prior_summary=prior.text if prior else None,
        focus=pressure.focus,
        on_folded=folding.on_folded,
        seconds=seconds,
    )
    breaker = source.breaker.succeeded() if outcome.units_done else source.breaker
    if outcome.error is not None:
        breaker = breaker.failed(limit)
    given = source.given.entries
    entries = folding.entries()
    return SummaryStageResult(
        entries,
        changed=folding.decisions is not None,
        tokens_freed_estimate=pressure.size(given) - pressure.size(entries),
        note="; ".join([*filter(None, [plan.note]), _note(outcome)]),
        outcome=outcome,
        breaker=breaker,
        summary=folding.summary,
        decisions=folding.decisions,
        window=outcome.reported_window if asks_the_run(summarizer) else None,
    )


def asks_the_run(summarizer: Summarizer) -> bool:
    """Tell whether a summarizer asks the run's own model: it says that it has no other provider."""
    return getattr(summarizer, "provider", summarizer) is None


def _note(outcome: FoldOutcome) -> str:
    chunks = f"{outcome.chunks_folded} of {outcome.chunks_planned} chunks folded into the summary"
    split = ", an oversized entry was folded in pieces" if outcome.degraded else ""
    failed = f"; stopped by {type(outcome.error).__name__}" if outcome.error else ""
    return chunks + split + failed
