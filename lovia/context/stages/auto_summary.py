"""A summary stands for the oldest part of the conversation, when nothing cheaper is enough."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, Pressure, StageResult
from lovia.context.stages.summarising import FoldPlan, foldable_units, movable_room, run_fold
from lovia.context.summarizer import LLMSummarizer, Summarizer
from lovia.context.view.source import Source, stage_input

if TYPE_CHECKING:
    from lovia.transcript.entries import TranscriptEntry
    from lovia.transcript.pairing import Unit

__all__ = ["AutoSummaryStage"]

#: A summary must be able to take this share off the request, or it is not worth a model call.
_MIN_GAIN = 0.05
#: The protected tail holds at the most this share of the room for what can be moved, so that huge
#: messages cannot hide in it.
_TAIL_SHARE = 0.5
#: So much of that room the conversation's first entries may take, beside the leading block.
_INITIAL_SHARE = 0.1
#: A summary is expected to take so many tokens when planning how much to fold; a window that is
#: small holds it to this share of the target.
_SUMMARY_TOKENS = 1_000
_SUMMARY_SHARE = 0.1


class AutoSummaryStage:
    """Folds the oldest uncovered part of the transcript into the running summary.

    It reads the transcript, so what snip and retention took out of the view is summarised as it
    was. It folds as much as brings the request to the target; when asked for by hand, everything
    before a short tail.

    Args:
        summarizer: Writes the summary; ``None``: the run's own model.
        keep_initial: First entries that stay, the leading block included.
        keep_recent: Entries at the end that stay.
        manual_keep_recent: The same for a compaction asked for by hand.
        max_failures: Consecutive failed summaries at which the circuit breaker opens.
        cooldown: Seconds after which an open breaker lets one attempt through.
    """

    name = "auto_summary"

    def __init__(
        self,
        summarizer: Summarizer | None = None,
        *,
        keep_initial: int = 3,
        keep_recent: int = 40,
        manual_keep_recent: int = 8,
        max_failures: int = 3,
        cooldown: float = 300.0,
    ) -> None:
        self.summarizer: Summarizer = summarizer or LLMSummarizer()
        self.keep_initial = keep_initial
        self.keep_recent = keep_recent
        self.manual_keep_recent = manual_keep_recent
        self.max_failures = max_failures
        self.cooldown = cooldown

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Summarise while the request is above the target, unless the breaker is open."""
        pressure, source = stage_input(entries, ctx)
        manual = pressure.reason == "manual"
        if pressure.reactive or not pressure.engaged:
            return StageResult(entries)
        if pressure.target is not None and not pressure.over_target and not manual:
            return StageResult(entries)
        if not manual and source.breaker.state(self.cooldown) == "open":
            return StageResult(
                entries, note="not tried: the summarizer kept failing and is given a rest"
            )
        plan = self._plan(pressure, source, manual=manual)
        if not plan.units:
            return StageResult(
                entries, note="nothing worth a summary lies before the protected tail"
            )
        return await run_fold(
            plan,
            summarizer=self.summarizer,
            pressure=pressure,
            source=source,
            ctx=ctx,
            limit=self.max_failures,
        )

    def _plan(self, pressure: Pressure, source: Source, *, manual: bool) -> FoldPlan:
        target, room = pressure.target, movable_room(pressure, source)
        initial = None if room is None else room * _INITIAL_SHARE
        tail = None if room is None else int(room * _TAIL_SHARE)
        start = source.initial_stop(self.keep_initial, initial, pressure.entry_size)
        keep = self.manual_keep_recent if manual else self.keep_recent
        stop = source.tail_start(keep, tail, pressure.entry_size)
        units = foldable_units(source, start, stop)
        gains = self._gains(units, source, pressure)
        if manual or target is None:
            return FoldPlan(units)
        growth = _summary_growth(pressure, source)
        if not gains or gains[-1] - growth < pressure.request * _MIN_GAIN:
            return FoldPlan([])
        wanted = pressure.request - target + growth
        enough = next((k + 1 for k, gain in enumerate(gains) if gain >= wanted), len(units))
        return FoldPlan(units[:enough])

    def _gains(self, units: list[Unit], source: Source, pressure: Pressure) -> list[float]:
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


def _summary_growth(pressure: Pressure, source: Source) -> float:
    """Return the tokens by which the view's summary is expected to grow."""
    expected = float(_SUMMARY_TOKENS)
    if pressure.target is not None:
        expected = min(expected, pressure.target * _SUMMARY_SHARE)
    prior = source.decisions.summary
    now = pressure.counter.text(prior.text) * pressure.scale if prior else 0.0
    return max(expected - now, 0.0)
