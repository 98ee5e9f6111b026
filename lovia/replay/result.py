"""What a replay found out: sizes turn by turn, the passes behind them, and the totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lovia.context.policy import (
        CompactionReason,
        ContextPolicyResult,
        PassOutcome,
        StageRecord,
        ViewKind,
    )
    from lovia.replay.estimate import UsageComparison
    from lovia.tokens.counter import TokenSource

__all__ = ["ReplayPass", "ReplayResult", "ReplayTotals", "ReplayTurn"]


@dataclass(frozen=True, slots=True)
class ReplayPass:
    """One compaction pass.

    Attributes:
        outcome: How it ended.
        reason: The most expensive stage that changed something, or ``None``.
        reactive: Whether a request larger than the window caused it.
        before: Request tokens without the pass.
        after: Request tokens with it.
        stages: What each stage did.
        summary_input_tokens: Prompt tokens that its own model calls spent.
        summary_output_tokens: Tokens that they generated.
        archived: Where the removed entries are kept, or ``None``.
    """

    outcome: PassOutcome
    reason: CompactionReason | None
    reactive: bool
    before: int
    after: int
    stages: tuple[StageRecord, ...] = ()
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    archived: str | None = None

    @classmethod
    def of(
        cls, result: ContextPolicyResult, *, reactive: bool, before: int, after: int
    ) -> ReplayPass:
        """Take the facts of a pass out of a policy's result."""
        return cls(
            outcome=result.outcome or "noop",
            reason=result.reason,
            reactive=reactive,
            before=before,
            after=after,
            stages=result.stages,
            summary_input_tokens=result.usage.input_tokens,
            summary_output_tokens=result.usage.output_tokens,
            archived=result.archive_ref.uri if result.archive_ref else None,
        )

    @property
    def freed(self) -> int:
        """What the pass took off the request, in tokens; negative when it grew."""
        return self.before - self.after

    @property
    def changed(self) -> bool:
        """Whether the pass changed the view."""
        return self.outcome in {"compacted", "partial"}

    @property
    def summary_cost(self) -> int:
        """What the pass's own model calls spent, in tokens."""
        return self.summary_input_tokens + self.summary_output_tokens

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """Return a JSON-safe form; durations only on request, since they differ from run to run."""
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "reactive": self.reactive,
            "before": self.before,
            "after": self.after,
            "freed": self.freed,
            "summary_input_tokens": self.summary_input_tokens,
            "summary_output_tokens": self.summary_output_tokens,
            "archived": self.archived,
            "stages": [_stage_dict(stage, timing=timing) for stage in self.stages],
        }


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """One model call of the recording, and what the policy made of its request.

    Attributes:
        index: Number of the call, from 1.
        entries: Transcript entries before the call.
        view_entries: Entries of the view that was sent.
        history: The whole transcript as a request, in tokens.
        request: What the call sends, in tokens.
        window: The model's window in tokens, or ``None``.
        view: Whether the view is the transcript itself, freshly compacted, or a replay of earlier
            decisions.
        source: Where the sizes come from.
        passes: The passes that ran before the call.
        overflow: Whether the request stayed larger than the window, so that no provider takes it.
        recorded: Prompt tokens that the recording's own provider counted, or ``None``.
        seconds: How long the policy took.
    """

    index: int
    entries: int
    view_entries: int
    history: int
    request: int
    window: int | None
    view: ViewKind
    source: TokenSource
    passes: tuple[ReplayPass, ...] = ()
    overflow: bool = False
    recorded: int | None = None
    seconds: float = 0.0

    @property
    def freed(self) -> int:
        """What the passes of this turn took off the request, in tokens."""
        return sum(p.freed for p in self.passes if p.changed)

    @property
    def saved(self) -> int | None:
        """What the call saves: min(history, window) - request.

        ``None`` without a window, and for a request that overflows: such a call is not made.
        """
        if self.window is None or self.overflow:
            return None
        return min(self.history, self.window) - self.request

    @property
    def summary_cost(self) -> int:
        """What this turn's summaries spent, in tokens."""
        return sum(p.summary_cost for p in self.passes)

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """Return a JSON-safe form; durations only on request."""
        data: dict[str, Any] = {
            "turn": self.index,
            "entries": self.entries,
            "view_entries": self.view_entries,
            "history": self.history,
            "request": self.request,
            "freed": self.freed,
            "saved": self.saved,
            "summary_cost": self.summary_cost,
            "view": self.view,
            "source": self.source,
            "overflow": self.overflow,
            "recorded": self.recorded,
            "passes": [p.to_dict(timing=timing) for p in self.passes],
        }
        return data | ({"seconds": round(self.seconds, 6)} if timing else {})


@dataclass(frozen=True, slots=True)
class ReplayTotals:
    """The sums over a replay.

    Attributes:
        turns: Model calls.
        passes: Passes that changed the view.
        overflows: Calls whose request stayed larger than the window.
        history: History at the last call, its largest size, in tokens.
        request_mean: Mean request, in tokens.
        request_peak: Largest request, in tokens.
        uncompacted: What the calls would have sent: the sum of min(history, window), in tokens.
        sent: What they sent: the sum of the requests, in tokens.
        freed: The sum over passes, in tokens.
        summary_input_tokens: Prompt tokens that summaries spent.
        summary_output_tokens: Tokens that they generated.
        seconds: How long the policy took.
    """

    turns: int
    passes: int
    overflows: int
    history: int
    request_mean: int
    request_peak: int
    uncompacted: int
    sent: int
    freed: int
    summary_input_tokens: int
    summary_output_tokens: int
    seconds: float = 0.0

    @classmethod
    def of(cls, turns: tuple[ReplayTurn, ...]) -> ReplayTotals:
        """Add up turns; calls that overflow count as calls, but send and save nothing."""
        made = [turn for turn in turns if not turn.overflow]
        passes = [p for turn in turns for p in turn.passes]
        requests = [turn.request for turn in made]
        return cls(
            turns=len(turns),
            passes=sum(p.changed for p in passes),
            overflows=len(turns) - len(made),
            history=max((turn.history for turn in turns), default=0),
            request_mean=round(sum(requests) / len(requests)) if requests else 0,
            request_peak=max(requests, default=0),
            uncompacted=sum(t.request + (t.saved or 0) for t in made),
            sent=sum(requests),
            freed=sum(turn.freed for turn in turns),
            summary_input_tokens=sum(p.summary_input_tokens for p in passes),
            summary_output_tokens=sum(p.summary_output_tokens for p in passes),
            seconds=sum(turn.seconds for turn in turns),
        )

    @property
    def saved(self) -> int:
        """The sum over calls, in tokens."""
        return self.uncompacted - self.sent

    @property
    def summary_cost(self) -> int:
        """What compaction's own model calls spent, in tokens."""
        return self.summary_input_tokens + self.summary_output_tokens

    @property
    def net(self) -> int:
        """Saved minus summary cost, in tokens."""
        return self.saved - self.summary_cost

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """Return a JSON-safe form; durations only on request."""
        data: dict[str, Any] = {
            "turns": self.turns,
            "passes": self.passes,
            "overflows": self.overflows,
            "history": self.history,
            "request_mean": self.request_mean,
            "request_peak": self.request_peak,
            "uncompacted": self.uncompacted,
            "sent": self.sent,
            "freed": self.freed,
            "saved": self.saved,
            "summary_input_tokens": self.summary_input_tokens,
            "summary_output_tokens": self.summary_output_tokens,
            "summary_cost": self.summary_cost,
            "net": self.net,
        }
        return data | ({"seconds": round(self.seconds, 6)} if timing else {})


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A recording's way through a policy.

    Attributes:
        name: The recording's name, for people.
        policy: The policy and its settings, for people.
        window: The window in tokens, or ``None``.
        turns: One item a model call.
        digest: Digest of the transcript, the same before and after.
        estimate: How the estimate compares with the recorded counts, or ``None`` without any.
    """

    name: str
    policy: str
    window: int | None
    turns: tuple[ReplayTurn, ...]
    digest: str
    estimate: UsageComparison | None = None

    @property
    def totals(self) -> ReplayTotals:
        """The sums over all turns."""
        return ReplayTotals.of(self.turns)

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """Return a JSON-safe form; durations only on request."""
        return {
            "name": self.name,
            "policy": self.policy,
            "window": self.window,
            "digest": self.digest,
            "totals": self.totals.to_dict(timing=timing),
            "estimate": self.estimate.to_dict() if self.estimate else None,
            "turns": [turn.to_dict(timing=timing) for turn in self.turns],
        }


def _stage_dict(stage: StageRecord, *, timing: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": stage.name,
        "outcome": stage.outcome,
        "before": stage.before,
        "after": stage.after,
        "note": stage.note,
    }
    return data | ({"seconds": round(stage.seconds, 6)} if timing else {})
