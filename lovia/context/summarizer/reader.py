"""What the fold driver asks of a summarizer, answered for one that has only `summarize`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from lovia.context.summarizer.protocol import Summarizer, Summary
from lovia.context.summarizer.rendering import clip_entry
from lovia.context.summarizer.substance import says_nothing
from lovia.context.summarizer.threads import counts_in_threads
from lovia.errors import SummaryRejected
from lovia.providers.base import provider_window
from lovia.retry import RetryPolicy
from lovia.tokens import counter_for
from lovia.usage import COUNTERS, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.policy import PolicyContext
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Reader", "counter_of", "run_window"]

#: Share of the run's window that a summarizer without `room` is given to read.
_DEFAULT_SHARE: Final = 0.5
#: How summarizers that do not try again themselves are asked again.
_RETRY: Final = RetryPolicy(max_attempts=3)
#: Seconds that a summarizer with a time limit of its own has to tell that it was reached.
_GRACE_SECONDS: Final = 10.0


def counter_of(ctx: PolicyContext) -> TokenCounter:
    """Return the counter of the pass, or the best one at hand outside a pass."""
    return ctx.pressure.counter if ctx.pressure else counter_for(ctx.provider, ctx.model)


def run_window(ctx: PolicyContext) -> int | None:
    """Return the context window of the run's model in *counted* tokens, or ``None`` when unknown.

    A counter that is known to count fewer tokens than the provider gets a smaller window.
    """
    if ctx.pressure is None or ctx.pressure.window is None:
        return provider_window(ctx.provider)
    return int(ctx.pressure.window / max(ctx.pressure.scale, 1.0))


class Reader:
    """One summarizer at work for one run.

    Attributes:
        counter: Counts tokens of summaries and of entries.
        in_threads: Whether ``clip`` and ``measure`` may be called in a worker thread.
        clip: The entry with no more text than the summarizer reads.
        measure: The tokens of an entry as the summarizer reads it.
        attempts: How often the summarizer was asked for the last summary.
    """

    def __init__(
        self,
        summarizer: Summarizer,
        ctx: PolicyContext,
        *,
        focus: str | None,
        result_chars: int,
        seconds: float | None,
    ) -> None:
        self.counter: TokenCounter = counter_of(ctx)
        self.in_threads: bool = counts_in_threads(
            self.counter, getattr(summarizer, "counter", None)
        )
        self.attempts: int = 0
        self._summarizer: Any = summarizer
        self._ctx = ctx
        self._focus = focus
        self._seconds = seconds
        own_clip = getattr(summarizer, "clip", None)
        own_measure = getattr(summarizer, "measure", None)
        clip = own_clip or partial(clip_entry, result_chars=result_chars)
        self.clip: Callable[[TranscriptEntry], TranscriptEntry] = clip
        self.measure: Callable[[TranscriptEntry], int] = (
            partial(own_measure, ctx=ctx)
            if own_measure
            else lambda entry: self.counter.entry(clip(entry))
        )

    def room(self, prior_summary: str | None) -> int | None:
        """Return the tokens of entries that one request can carry, or ``None`` without a limit."""
        room = getattr(self._summarizer, "room", None)
        if room is not None:
            own: int | None = room(self._ctx, prior_summary=prior_summary, focus=self._focus)
            return own
        window = run_window(self._ctx)
        if window is None:
            return None
        return int(window * _DEFAULT_SHARE) - self.counter.text(prior_summary or "")

    async def summarize(
        self, entries: Sequence[TranscriptEntry], prior_summary: str | None
    ) -> Summary:
        """Return the new summary; what it spent is on ``ctx.usage``, exactly once.

        Raises:
            SummaryRejected: The summarizer's text says nothing, or there is none in time.
        """
        before = self._ctx.usage.clone()
        made = await self._ask(entries, prior_summary)
        summary = Summary(made) if isinstance(made, str) else made
        spent = spent_since(before, self._ctx.usage)
        if not spent.total_tokens and summary.usage.total_tokens:
            spent = summary.usage
            self._ctx.usage.add_summary(spent)
        if says_nothing(summary.text):
            raise SummaryRejected("The summarizer's text says nothing.", reason="empty")
        return replace(summary, usage=spent, attempts=summary.attempts + self.attempts - 1)

    async def _ask(
        self, entries: Sequence[TranscriptEntry], prior_summary: str | None
    ) -> Summary | str:
        limit, self.attempts = self._limit(), 0
        clipped = [self.clip(entry) for entry in entries]
        with anyio.move_on_after(limit):
            while True:
                self.attempts += 1
                try:
                    made: Summary | str = await self._summarizer.summarize(
                        list(clipped),
                        ctx=self._ctx,
                        prior_summary=prior_summary,
                        focus=self._focus,
                    )
                except Exception as error:
                    if not self._may_be_tried_again(error):
                        raise
                    await self._pause(error)
                else:
                    return made
        message = f"The summarizer did not answer within {limit:g} seconds."
        hint = "Give it a faster model, or allow more summary_timeout_seconds."
        raise SummaryRejected(message, reason="timeout", hint=hint)

    def _may_be_tried_again(self, error: Exception) -> bool:
        """Tell whether to ask once more; a summarizer with a ``retry`` has done so already."""
        if getattr(self._summarizer, "retry", None) is not None:
            return False
        return self.attempts < _RETRY.max_attempts and _RETRY.retry_on(error)

    async def _pause(self, error: Exception) -> None:
        ctx = self._ctx
        ctx.checkpoint("fold")
        await _RETRY.wait(self.attempts, error)
        ctx.checkpoint("fold")
        if ctx.budget is not None:
            ctx.budget.check(ctx.usage)

    def _limit(self) -> float | None:
        """Return the seconds of one call; a summarizer that limits itself comes first."""
        own = getattr(self._summarizer, "timeout", None)
        if self._seconds is None or not isinstance(own, (int, float)):
            return self._seconds
        return max(self._seconds, own + _GRACE_SECONDS)


def spent_since(before: Usage, now: Usage) -> Usage:
    """Return what was spent since ``before``, which is an earlier copy of ``now``.

    The totals tell also of a summarizer that books with ``usage.add``: nothing else spends tokens
    while a fold runs.
    """
    return Usage(**{name: getattr(now, name) - getattr(before, name) for name in COUNTERS})
