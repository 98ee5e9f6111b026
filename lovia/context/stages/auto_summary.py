"""A summary stands for the oldest part of the conversation, when nothing cheaper is enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, Pressure, StageResult
from lovia.context.stages.summarising import (
    FoldPlan,
    foldable_units,
    gains_of,
    movable_room,
    run_fold,
)
from lovia.context.summarizer import LLMSummarizer, Summarizer
from lovia.context.summarizer.folding import SUMMARY_SECONDS
from lovia.context.view.source import KEPT_TOO, Source, stage_input

if TYPE_CHECKING:
    from lovia.transcript.entries import TranscriptEntry

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
        keep_tools: Steps that call these tools stay, unless the request would not fit the window.
        timeout: Seconds that one call of the summarizer may take; ``None``: no limit.
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
        keep_tools: frozenset[str] = frozenset(),
        timeout: float | None = SUMMARY_SECONDS,
    ) -> None:
        self.summarizer: Summarizer = summarizer or LLMSummarizer()
        self.keep_initial = keep_initial
        self.keep_recent = keep_recent
        self.manual_keep_recent = manual_keep_recent
        self.max_failures = max_failures
        self.cooldown = cooldown
        self.keep_tools = keep_tools
        self.timeout = timeout

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
            seconds=self.timeout,
        )

    def _plan(self, pressure: Pressure, source: Source, *, manual: bool) -> FoldPlan:
        """Leave kept tools alone where that is enough for the window."""
        plan, left = self._plan_over(pressure, source.keeping(self.keep_tools), manual=manual)
        if not self.keep_tools or pressure.window is None or left <= pressure.window:
            return plan
        everything, _ = self._plan_over(pressure, source, manual=manual)
        return replace(everything, note=KEPT_TOO)

    def _plan_over(
        self, pressure: Pressure, source: Source, *, manual: bool
    ) -> tuple[FoldPlan, float]:
        """Return what to fold of what is not fixed, and the request that this leaves."""
        target, room = pressure.target, movable_room(pressure, source)
        initial = None if room is None else room * _INITIAL_SHARE
        tail = None if room is None else int(room * _TAIL_SHARE)
        start = source.initial_stop(self.keep_initial, initial, pressure.entry_size)
        keep = self.manual_keep_recent if manual else self.keep_recent
        stop = source.tail_start(keep, tail, pressure.entry_size)
        units = foldable_units(source, start, stop)
        gains = gains_of(units, source, pressure)
        growth = _summary_growth(pressure, source)
        most = gains[-1] - growth if gains else 0.0
        if manual or target is None:
            return FoldPlan(units), pressure.request - most
        if most < pressure.request * _MIN_GAIN:
            return FoldPlan([]), pressure.request
        wanted = pressure.request - target + growth
        enough = next((k + 1 for k, gain in enumerate(gains) if gain >= wanted), len(units))
        return FoldPlan(units[:enough]), pressure.request - most


def _summary_growth(pressure: Pressure, source: Source) -> float:
    """Return the tokens by which the view's summary is expected to grow."""
    expected = float(_SUMMARY_TOKENS)
    if pressure.target is not None:
        expected = min(expected, pressure.target * _SUMMARY_SHARE)
    prior = source.decisions.summary
    now = pressure.counter.text(prior.text) * pressure.scale if prior else 0.0
    return max(expected - now, 0.0)
