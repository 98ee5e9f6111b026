"""The fold driver: it turns a span of the transcript, chunk by chunk, into the running summary."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import anyio

from lovia.context.summarizer.ledger import split_ledger, with_ledger
from lovia.context.summarizer.outcome import FoldOutcome, FoldStep
from lovia.context.summarizer.planner import Chunk, Cursor, Plan
from lovia.context.summarizer.protocol import RequestTooLarge, Summarizer, Summary
from lovia.context.summarizer.reader import Reader, run_window, spent_since
from lovia.context.summarizer.space import Space
from lovia.context.summarizer.threads import is_large, off_loop
from lovia.errors import BudgetExceeded, ContextOverflowError, RunCancelled, SummaryRejected
from lovia.events import SummaryFoldCompleted
from lovia.transcript.entries import InputEntry, TranscriptEntry
from lovia_otel import fold_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.policy import PolicyContext
    from lovia.usage import Usage

__all__ = ["SUMMARY_SECONDS", "FoldOutcome", "FoldStep", "fold"]

#: Seconds that one call of a summarizer may take.
SUMMARY_SECONDS: Final = 300.0

#: Tokens of the identifier ledger, and the part of the run's window that it may not exceed.
_LEDGER_TOKENS: Final = 500
_LEDGER_PART: Final = 24


async def fold(
    units: Sequence[Sequence[TranscriptEntry]],
    *,
    summarizer: Summarizer,
    ctx: PolicyContext,
    prior_summary: str | None,
    focus: str | None = None,
    on_folded: Callable[[FoldStep], bool],
    result_chars: int = 2_000,
    seconds: float | None = SUMMARY_SECONDS,
) -> FoldOutcome:
    """Fold units of the transcript into a summary.

    The units go to the summarizer in chunks that fit its room. A unit that is too large alone is
    read in pieces and is covered only after the last one. A prior summary that leaves no room for
    new text is first folded itself. Identifiers that a new summary lost are appended to it.

    Args:
        units: What to cover, oldest first; the entries of a unit are covered together.
        summarizer: Writes the summaries.
        ctx: The run. The checkpoint ``fold`` and the budget are looked at before each chunk.
        prior_summary: The summary of everything before ``units``.
        focus: What the summary should dwell on.
        on_folded: Called after each step, before anything else can fail; returns whether to go on.
        result_chars: Characters of each tool result and of each call's arguments that a summarizer
            without a ``clip`` of its own gets to read.
        seconds: Seconds that one call of the summarizer may take; ``None``: no limit.

    Returns:
        What was folded. A failure after some steps is in ``error`` and leaves those steps standing.

    Raises:
        RunCancelled: At a checkpoint; the steps before it were handed to ``on_folded``.
        BudgetExceeded: Likewise.
    """
    reader = Reader(summarizer, ctx, focus=focus, result_chars=result_chars, seconds=seconds)
    folding = _Folding(reader, ctx, prior_summary, on_folded)
    try:
        await folding.run(units)
    except (RunCancelled, BudgetExceeded):
        raise
    except Exception as error:  # noqa: BLE001 - what a summarizer raises ends the fold, not the run
        return folding.outcome(error)
    return folding.outcome(None)


class _Folding:
    """The state of one fold: where it stands, the summary up to there, and what was spent."""

    def __init__(
        self,
        reader: Reader,
        ctx: PolicyContext,
        prior_summary: str | None,
        on_folded: Callable[[FoldStep], bool],
    ) -> None:
        self._reader = reader
        self._space = Space(reader)
        self._spending = _Spending(ctx.usage)
        self._ctx = ctx
        self._on_folded = on_folded
        self._plan = Plan([], measure=reader.measure, clip=reader.clip)
        self._cursor = Cursor()
        self._body = split_ledger(prior_summary)[0] if prior_summary else None
        self._degraded = False  # since the last step
        self._planned = self._folded = self._calls = 0
        self._covered = FoldOutcome(prior_summary)  # as of the last step

    async def run(self, units: Sequence[Sequence[TranscriptEntry]]) -> None:
        """Fold until everything is covered or ``on_folded`` says that it is enough."""
        self._plan = await _plan(units, self._reader)
        while not self._plan.is_done(self._cursor):
            if self._space.is_crowded_by(self._body) and not await self._recover():
                return
            cursor = self._cursor
            folded = await self._fold_next(self._plan, cursor, self._body)
            if folded is None:
                continue
            self._body, self._cursor = folded
            if self._cursor.rest is None and not await self._commit():
                return

    def outcome(self, error: Exception | None) -> FoldOutcome:
        """Return what was done."""
        return replace(
            self._covered,
            chunks_planned=max(self._planned, self._folded),
            chunks_folded=self._folded,
            calls=self._calls,
            usage=self._spending.total(),
            error=error,
            reported_window=self._space.reported_window,
        )

    async def _recover(self) -> bool:
        """Fold the summary so far, in pieces, into a smaller one; returns whether to go on."""
        prior = self._body or ""
        span = [[InputEntry("user", prior, origin="summary")]]
        plan = await _plan(span, self._reader)
        cursor, smaller = Cursor(), None
        while not plan.is_done(cursor):
            if self._space.is_crowded_by(smaller):
                message = "The summary so far does not become small enough for new text beside it."
                raise SummaryRejected(message, reason="inflated")
            folded = await self._fold_next(plan, cursor, smaller)
            if folded is not None:
                smaller, cursor = folded
        count = self._reader.counter.text
        _refuse_inflated(count(smaller or ""), count(prior))
        self._body = smaller
        return self._cursor.rest is not None or await self._commit()

    async def _fold_next(
        self, plan: Plan, cursor: Cursor, prior: str | None
    ) -> tuple[str, Cursor] | None:
        """Fold the next chunk of a plan into ``prior``.

        Returns:
            The new summary and where the plan goes on, or ``None`` when the chunk was refused as
            too large and has to be taken smaller.
        """
        self._ctx.checkpoint("fold")
        if self._ctx.budget is not None:
            self._ctx.budget.check(self._ctx.usage)
        room = self._space.beside(prior)
        take = partial(plan.take, cursor, room)
        large = self._reader.in_threads and is_large(plan.next_unit(cursor))
        chunk = await off_loop(take, large=large)
        self._planned = self._folded + self._folds_left(plan, cursor, chunk)
        try:
            summary = await self._summarize(chunk, prior)
        except ContextOverflowError as refusal:
            self._calls += self._reader.attempts - isinstance(refusal, RequestTooLarge)
            self._space.shrink(refusal, chunk.tokens, prior)
            return None
        except Exception:
            self._calls += self._reader.attempts
            raise
        self._folded += 1
        self._calls += summary.attempts
        self._degraded |= chunk.degraded or summary.degraded
        if chunk.after.rest is not None:
            self._announce()
        return summary.text, chunk.after

    async def _summarize(self, chunk: Chunk, prior: str | None) -> Summary:
        entries = len(chunk.entries)
        with fold_scope(
            index=self._folded, planned=self._planned, tokens=chunk.tokens, entries=entries
        ) as scope:
            summary = await self._reader.summarize(chunk.entries, prior)
            scope.settle(
                summary_tokens=self._reader.counter.text(summary.text),
                attempts=summary.attempts,
                degraded=chunk.degraded or summary.degraded,
            )
            return summary

    def _folds_left(self, plan: Plan, cursor: Cursor, chunk: Chunk) -> int:
        left = plan.tokens_after(cursor)
        if plan is not self._plan:  # the prior summary first, then everything else
            left += self._plan.tokens_after(self._cursor)
        return max(1, math.ceil(left / max(chunk.tokens, 1)))

    async def _commit(self) -> bool:
        """Let the summary so far stand for what was folded; returns whether to go on.

        The summary is paid for, so a cancellation waits until it is handed over.
        """
        body, counter = self._body or "", self._reader.counter
        units = self._plan.units[self._covered.units_done : self._cursor.units]
        originals = [entry for unit in units for entry in unit]
        size = counter.text(body)
        replaced = counter.text(self._covered.summary or "") + counter.entries(originals)
        _refuse_inflated(size, replaced)
        with anyio.CancelScope(shield=True):
            ledgered = await with_ledger(
                body,
                originals=originals,
                prior_summary=self._covered.summary,
                counter=counter,
                budget=min(self._ledger_budget(), replaced - size),
            )
        self._covered = FoldOutcome(
            ledgered.text,
            self._cursor.units,
            degraded=self._covered.degraded or self._degraded,
            identifiers_kept=ledgered.kept,
            identifiers_total=ledgered.total,
        )
        go_on = self._on_folded(self._step())
        self._degraded = False
        self._announce()
        return go_on

    def _ledger_budget(self) -> int:
        window = run_window(self._ctx)
        return _LEDGER_TOKENS if window is None else min(_LEDGER_TOKENS, window // _LEDGER_PART)

    def _step(self) -> FoldStep:
        return FoldStep(
            summary=self._covered.summary or "",
            units_done=self._covered.units_done,
            index=self._folded,
            planned=max(self._planned, self._folded),
            usage=self._spending.since("step"),
            degraded=self._degraded,
            identifiers_kept=self._covered.identifiers_kept,
            identifiers_total=self._covered.identifiers_total,
        )

    def _announce(self) -> None:
        pass_id = self._ctx.pressure.pass_id if self._ctx.pressure else None
        planned = max(self._planned, self._folded)
        usage = self._spending.since("event")
        self._ctx.tell(SummaryFoldCompleted(self._folded, planned, usage, pass_id))


async def _plan(units: Sequence[Sequence[TranscriptEntry]], reader: Reader) -> Plan:
    """Measure the units; a long span is measured in a worker thread."""
    make = partial(Plan, units, measure=reader.measure, clip=reader.clip)
    large = reader.in_threads and is_large(chain.from_iterable(units))
    return await off_loop(make, large=large)


class _Spending:
    """What summaries spent since the fold began, and since each kind of mark."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._begin = usage.clone()
        self._marks: dict[str, Usage] = {}

    def total(self) -> Usage:
        """Return what the fold spent so far."""
        return spent_since(self._begin, self._usage)

    def since(self, mark: str) -> Usage:
        """Return what was spent since this was last asked for the same mark."""
        spent = spent_since(self._marks.get(mark, self._begin), self._usage)
        self._marks[mark] = self._usage.clone()
        return spent


def _refuse_inflated(size: int, replaced: int) -> None:
    if size > replaced:
        message = f"The summary has {size} tokens, what it replaces has only {replaced}."
        raise SummaryRejected(message, reason="inflated")
