"""What a pass starts from, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.pipeline.sizing import RequestSize, WindowLimits
    from lovia.context.policy import ArchiveRef, CompactionReason, PassOutcome, StageRecord
    from lovia.context.stages.summarising import SummaryStageResult
    from lovia.context.view.decisions import Decisions
    from lovia.context.view.rendering import Rendered
    from lovia.tokens.counter import TokenCounter

__all__ = ["FoldTally", "PassFacts", "PassReport", "outcome_of", "reason_of"]

#: From the cheapest stage to the most expensive one.
_REASONS: tuple[CompactionReason, ...] = (
    "tool_result_budget",
    "middle_snip",
    "tool_result_retention",
    "auto_summary",
    "reactive_summary",
)


@dataclass(frozen=True)
class PassFacts:
    """What a pass starts from.

    Attributes:
        trigger: Why it runs: ``threshold``, ``entries``, ``batch``, ``overflow`` or ``manual``.
        policy: The policy's name, for telemetry.
        size: The request before it.
        limits: Window, trigger and target.
        history: Tokens of the whole transcript as a request.
        counter: Counts tokens.
        new_from: Index of the first transcript entry that no request held yet.
        fixed: Transcript indices that stay word for word.
        learn: Remembers a window that a refusal named, and returns the limits by it.
        focus: What a requested summary should dwell on.
    """

    trigger: str
    policy: str
    size: RequestSize
    limits: WindowLimits
    history: int
    counter: TokenCounter
    new_from: int
    fixed: frozenset[int]
    learn: Callable[[int], WindowLimits]
    focus: str | None = None

    @property
    def reactive(self) -> bool:
        """Whether the provider had refused the request."""
        return self.trigger == "overflow"


@dataclass(frozen=True)
class PassReport:
    """What a pass came to.

    Attributes:
        pass_id: Names it in events and telemetry.
        outcome: Its outcome.
        decisions: The decisions after it.
        rendered: The view that they give.
        request_after: Request tokens with it.
        limits: Window, trigger and target, as far as they are known now.
        records: What each stage did.
        reason: The most expensive stage that changed something.
        summary: Text of the new summary.
        archive_ref: Where the removed entries are kept.
        usage: What its model calls spent.
        error: The error of the last stage that failed.
        folds: Chunks planned and folded, calls, identifiers kept and found, degraded.
        summary_failed: Whether a summary was tried and not finished.
    """

    pass_id: str
    outcome: PassOutcome
    decisions: Decisions
    rendered: Rendered
    request_after: int
    limits: WindowLimits
    records: tuple[StageRecord, ...] = ()
    reason: CompactionReason | None = None
    summary: str | None = None
    archive_ref: ArchiveRef | None = None
    usage: Usage = field(default_factory=Usage)
    error: BaseException | None = None
    folds: dict[str, Any] = field(default_factory=dict)
    summary_failed: bool = False


def reason_of(records: Sequence[StageRecord], trigger: str) -> CompactionReason | None:
    """Return the most expensive stage that changed something, by the name that results give it."""
    acted = {record.name for record in records if record.after != record.before}
    reasons = [reason for reason in _REASONS if reason in acted]
    if not reasons:
        return None
    by_hand = trigger == "manual" and reasons[-1] == "auto_summary"
    return "manual_summary" if by_hand else reasons[-1]


def outcome_of(records: Sequence[StageRecord], *, changed: bool, inflated: bool) -> PassOutcome:
    """Return a pass's outcome from what its stages did."""
    troubled = any(record.outcome in {"failed", "refused"} for record in records)
    if not changed:
        return "failed" if troubled else "noop"
    if inflated:
        return "inflated"
    return "partial" if troubled else "compacted"


class FoldTally:
    """What the folds of one pass took, together.

    Args:
        running: The run's usage, to which summaries are reported as they happen.
    """

    def __init__(self, running: Usage) -> None:
        self._running = running
        self._before = running.summary.clone()
        self._results: list[SummaryStageResult] = []

    def add(self, result: SummaryStageResult) -> None:
        """Take in what one stage folded."""
        self._results.append(result)

    @property
    def summary(self) -> str | None:
        """The text of the newest summary."""
        return next((r.summary for r in reversed(self._results) if r.summary), None)

    @property
    def failed(self) -> bool:
        """Whether a fold ended with an error."""
        outcomes = (result.outcome for result in self._results)
        return any(outcome is not None and outcome.error is not None for outcome in outcomes)

    def usage(self) -> Usage:
        """Return what summaries spent since the pass began, failed and cancelled ones included."""
        spent = self._running.summary.clone()
        spent.subtract(self._before)
        return spent

    def folds(self) -> dict[str, Any]:
        """Return chunks planned and folded, calls, identifiers, and whether anything was split."""
        outcomes = [result.outcome for result in self._results if result.outcome is not None]
        if not outcomes:
            return {}
        return {
            "chunks": sum(outcome.chunks_planned for outcome in outcomes),
            "chunks_folded": sum(outcome.chunks_folded for outcome in outcomes),
            "summary_calls": sum(outcome.calls for outcome in outcomes),
            "identifiers_kept": outcomes[-1].identifiers_kept,
            "identifiers_total": outcomes[-1].identifiers_total,
            "degraded": any(outcome.degraded for outcome in outcomes),
        }
