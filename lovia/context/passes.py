"""One pass: the stages one after the other, each validated, inside spans, interruptible anywhere."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lovia.context.archive import CompactionArchive
from lovia.context.decisions import Cleared, Decisions
from lovia.context.memory import SessionMemory
from lovia.context.policy import (
    ArchiveRef,
    CompactionReason,
    ContextStage,
    PassOutcome,
    PolicyContext,
    Pressure,
    StageOutcome,
    StageRecord,
    StageResult,
)
from lovia.context.provenance import read_back
from lovia.context.ranges import Ranges
from lovia.context.rendering import Rendered
from lovia.context.sizing import RequestSize, WindowLimits
from lovia.context.source import Source
from lovia.context.stages.summarising import SummaryStageResult
from lovia.context.validity import check_decisions
from lovia.errors import BudgetExceeded, InvalidViewError, LoviaError, RunCancelled
from lovia.events import CompactionEnded, CompactionStarted
from lovia.providers.base import model_name, provider_name
from lovia.tokens.counter import TokenCounter
from lovia.transcript.entries import TranscriptEntry
from lovia.usage import Usage
from lovia_otel import PassScope, StageScope, pass_scope, stage_scope

__all__ = ["Pass", "PassFacts", "PassReport"]

_log = logging.getLogger("lovia.context")
_REASONS: dict[str, CompactionReason] = {
    "tool_result_budget": "tool_result_budget",
    "middle_snip": "middle_snip",
    "tool_result_retention": "tool_result_retention",
    "auto_summary": "auto_summary",
    "reactive_summary": "reactive_summary",
}


@dataclass(frozen=True)
class PassFacts:
    """What a pass starts from.

    Attributes:
        trigger: Why it runs: ``threshold``, ``entries``, ``batch``, ``overflow`` or ``manual``.
        policy: The policy's name, for telemetry.
        size: The request before it.
        limits: Window, trigger and target.
        overhead: Counted tokens beside the entries.
        counter: Counts tokens.
        new_from: Index of the first transcript entry that no request held yet.
        fixed: Transcript indices that stay word for word.
        focus: What a requested summary should dwell on.
    """

    trigger: str
    policy: str
    size: RequestSize
    limits: WindowLimits
    overhead: int
    counter: TokenCounter
    new_from: int
    fixed: frozenset[int]
    focus: str | None = None

    @property
    def reactive(self) -> bool:
        """Whether the provider had refused the request."""
        return self.trigger == "overflow"


@dataclass
class PassReport:
    """What a pass came to.

    Attributes:
        pass_id: Names it in events and telemetry.
        outcome: Its outcome.
        decisions: The decisions after it.
        rendered: The view that they give.
        request_after: Request tokens with it.
        records: What each stage did.
        reason: The most expensive stage that changed something.
        summary: Text of the new summary.
        archive_ref: Where the removed entries are kept.
        usage: What its model calls spent.
        error: The error of the last stage that failed.
        folds: Chunks planned and folded, calls, identifiers kept and found, degraded.
    """

    pass_id: str
    outcome: PassOutcome
    decisions: Decisions
    rendered: Rendered
    request_after: int
    records: tuple[StageRecord, ...] = ()
    reason: CompactionReason | None = None
    summary: str | None = None
    archive_ref: ArchiveRef | None = None
    usage: Usage = field(default_factory=Usage)
    error: BaseException | None = None
    folds: dict[str, Any] = field(default_factory=dict)


class Pass:
    """Runs stages over one conversation's view.

    Args:
        facts: What the pass starts from.
        memory: The conversation.
        ctx: The call.
        archive: Keeps what the pass removes.
    """

    def __init__(
        self, facts: PassFacts, memory: SessionMemory, ctx: PolicyContext, archive: CompactionArchive | None
    ) -> None:
        self.id = secrets.token_hex(8)
        self._facts = facts
        self._memory = memory
        self._ctx = ctx
        self._archive = archive
        self._decisions = memory.view.decisions
        self._rendered = memory.view.rendered()
        self._request = facts.size.tokens
        self._engaged = facts.trigger in ("overflow", "manual")
        self._records: list[StageRecord] = []
        self._kept: tuple[Rendered, list[TranscriptEntry]] | None = None
        self._summaries: list[SummaryStageResult] = []
        self._error: BaseException | None = None
        self._spent_before = ctx.usage.summary.clone()

    async def run(self, stages: Sequence[ContextStage]) -> PassReport:
        """Run the stages and return what they came to; nothing is committed here."""
        ctx, facts = self._ctx, self._facts
        ctx.checkpoint("pass")
        checkpoints = ctx.cancel.checkpoints_passed if ctx.cancel else 0
        self._emit(CompactionStarted(self.id, facts.trigger, facts.size.tokens, ctx.session_id))
        with self._scope() as scope:
            try:
                for index, stage in enumerate(stages):
                    ctx.checkpoint("stage")
                    await self._run_stage(index, stage)
                report = await self._conclude()
            except BaseException as error:
                self._interrupted(scope, error)
                raise
            passed = ctx.cancel.checkpoints_passed - checkpoints if ctx.cancel else None
            self._settle(scope, report, passed)
        self._emit(CompactionEnded(report.outcome, self.id, report.request_after))
        return report

    def _scope(self) -> PassScope:
        ctx, facts = self._ctx, self._facts
        return pass_scope(
            policy=facts.policy,
            trigger=facts.trigger,
            pass_id=self.id,
            agent=ctx.agent,
            session_id=ctx.session_id,
            model=model_name(ctx.provider, ctx.model),
            provider=provider_name(ctx.provider) if ctx.provider is not None else None,
            tokens_before=facts.size.tokens,
            entries_before=len(self._rendered.entries),
            tokens_target=facts.limits.target,
            window_tokens=facts.limits.window,
            history_tokens=round((self._memory.view.history_tokens + facts.overhead) * facts.size.scale),
        )

    async def _run_stage(self, index: int, stage: ContextStage) -> None:
        why_not = self._gate(stage)
        if why_not is not None:
            self._records.append(StageRecord(stage.name, "skipped", self._request, self._request, why_not))
            return
        before, started = self._request, time.perf_counter()
        with stage_scope(stage=stage.name, index=index, tokens_before=before) as scope:
            outcome, note = await self._apply(stage, scope)
            entries = len(self._rendered.entries)
            scope.settle(outcome=outcome, tokens_after=self._request, entries_after=entries, note=note)
        seconds = time.perf_counter() - started
        self._records.append(StageRecord(stage.name, outcome, before, self._request, note, seconds))

    def _gate(self, stage: ContextStage) -> str | None:
        """Return why a stage need not be asked, or ``None``."""
        limits = self._facts.limits
        if not getattr(stage, "on_arrival", False) and limits.trigger is not None:
            self._engaged = self._engaged or self._request > limits.trigger
        reactive_only = getattr(stage, "reactive_only", False)
        if reactive_only and not self._facts.reactive:
            return "the provider refused nothing"
        return None

    async def _apply(self, stage: ContextStage, scope: StageScope) -> tuple[StageOutcome, str | None]:
        """Ask one stage; whatever it does wrong is its own failure, and its input goes on."""
        given = self._rendered
        handed = list(given.entries)
        ctx = replace(self._ctx, pressure=self._pressure(handed, given))
        try:
            result = await stage.apply(handed, ctx=ctx)
            result = result if isinstance(result, StageResult) else StageResult(list(result), True)
            changed = self._take(result, given)
        except (BudgetExceeded, RunCancelled):
            raise
        except InvalidViewError as error:
            return self._failed(scope, "refused", error)
        except Exception as error:  # noqa: BLE001 - a stage by anyone may raise anything
            return self._failed(scope, "failed", error)
        if isinstance(result, SummaryStageResult) and result.outcome is not None:
            self._take_summary(result)
            if result.outcome.error is not None:
                return self._failed(scope, "failed", result.outcome.error, result.note)
        return ("applied" if changed else "noop"), result.note

    def _take(self, result: StageResult, given: Rendered) -> bool:
        """Read a stage's result back into decisions, check them, and go on with their view."""
        if result.entries == given.entries:
            return False
        view = self._memory.view
        decisions = read_back(result.entries, given, self._decisions, length=len(view.transcript))
        rendered = view.preview(decisions)
        check_decisions(decisions, rendered, view)
        self._take_decisions(decisions, rendered)
        return True

    def _take_decisions(self, decisions: Decisions, rendered: Rendered) -> None:
        counter, scale = self._facts.counter, self._facts.size.scale
        change = counter.entries(rendered.entries) - counter.entries(self._rendered.entries)
        self._request += round(change * scale)
        self._decisions, self._rendered = decisions, rendered
        self._kept = None

    def _take_summary(self, result: SummaryStageResult) -> None:
        self._summaries.append(result)
        if result.breaker is not None:
            self._memory.breaker = result.breaker

    def _failed(
        self, scope: StageScope, outcome: StageOutcome, error: BaseException, note: str | None = None
    ) -> tuple[StageOutcome, str]:
        self._error = error
        scope.settle(error_type=type(error).__name__)
        _log.warning("A compaction stage %s (%s).", outcome, type(error).__name__, exc_info=error)
        return outcome, note or f"{type(error).__name__}"

    def _pressure(self, handed: list[TranscriptEntry], given: Rendered) -> Pressure:
        facts, memory = self._facts, self._memory
        source = Source(
            view=memory.view,
            given=Rendered(handed, given.sources, given.owner),
            decisions=self._decisions,
            fixed=facts.fixed,
            new_from=facts.new_from,
            breaker=memory.breaker,
        )
        positions = (at for at, source_index in enumerate(given.sources) if source_index in facts.fixed)
        return Pressure(
            trigger=facts.limits.trigger,
            target=facts.limits.target,
            window=facts.limits.window,
            request=self._request,
            counter=facts.counter,
            scale=facts.size.scale,
            reason=facts.trigger,
            reactive=facts.reactive,
            engaged=self._engaged,
            protected=frozenset(positions),
            focus=facts.focus,
            pass_id=self.id,
            source=source,
            keep=lambda entries: setattr(self, "_kept", (given, entries)),
        )

    def _interrupted(self, scope: PassScope, error: BaseException) -> None:
        """Keep finished folds of an interrupted stage; called on the way out, so nothing may await."""
        cancelled = isinstance(error, RunCancelled) or not isinstance(error, Exception)
        outcome: PassOutcome = "cancelled" if cancelled else "failed"
        with suppress(Exception):
            if self._kept is not None:
                given, entries = self._kept
                self._take(StageResult(entries, True), given)
            self._memory.view.adopt(self._decisions)
        scope.settle(outcome=outcome, tokens_after=self._request, **self._spent())
        self._emit(CompactionEnded(outcome, self.id, self._request))

    async def _conclude(self) -> PassReport:
        facts, before = self._facts, self._memory.view.decisions
        changed = self._decisions != before
        troubled = any(record.outcome in ("failed", "refused") for record in self._records)
        if changed and self._request > facts.size.tokens:
            return PassReport(
                self.id, "inflated", before, self._memory.view.rendered(), facts.size.tokens,
                records=tuple(self._records), usage=self._usage(), error=self._error, folds=self._folds(),
            )  # fmt: skip
        outcome: PassOutcome = ("partial" if troubled else "compacted") if changed else "noop"
        if troubled and not changed:
            outcome = "failed"
        reason = self._reason()
        return PassReport(
            self.id, outcome, self._decisions, self._rendered, self._request,
            records=tuple(self._records),
            reason=reason,
            summary=next((s.summary for s in reversed(self._summaries) if s.summary), None),
            archive_ref=await self._save_removed(reason) if changed else None,
            usage=self._usage(),
            error=self._error,
            folds=self._folds(),
        )  # fmt: skip

    def _reason(self) -> CompactionReason | None:
        order = list(_REASONS)
        applied = [r.name for r in self._records if r.name in _REASONS and r.after != r.before]
        if not applied:
            return None
        name = max(applied, key=order.index)
        return "manual_summary" if self._facts.trigger == "manual" and name == "auto_summary" else _REASONS[name]

    async def _save_removed(self, reason: str | None) -> ArchiveRef | None:
        """Archive, once, what this pass newly takes out of the view; a failure never blocks the pass."""
        view = self._memory.view
        cleared = [k for k, how in self._decisions.replaced.items() if isinstance(how, Cleared)]
        removed = (self._decisions.hidden | Ranges.from_indices(cleared)) - view.archived
        if self._archive is None or not removed:
            return None
        entries = [view.transcript[index] for index in removed]
        try:
            ref = await self._archive.save_transcript(entries, ctx=self._ctx, reason=reason or "compaction")
        except (OSError, LoviaError) as error:
            _log.warning("Entries that compaction removed could not be archived (%s).", error)
            self._error = self._error or error
            return None
        view.archived = view.archived | removed
        return ref

    def _usage(self) -> Usage:
        now, before = self._ctx.usage.summary, self._spent_before
        spent = now.clone()
        spent.subtract(before)
        return spent

    def _folds(self) -> dict[str, Any]:
        outcomes = [s.outcome for s in self._summaries if s.outcome is not None]
        if not outcomes:
            return {}
        return {
            "chunks": sum(o.chunks_planned for o in outcomes),
            "chunks_folded": sum(o.chunks_folded for o in outcomes),
            "summary_calls": sum(o.calls for o in outcomes),
            "identifiers_kept": outcomes[-1].identifiers_kept,
            "identifiers_total": outcomes[-1].identifiers_total,
            "degraded": any(o.degraded for o in outcomes),
        }

    def _spent(self) -> dict[str, int]:
        usage = self._usage()
        return {"summary_input_tokens": usage.input_tokens, "summary_output_tokens": usage.output_tokens}

    def _settle(self, scope: PassScope, report: PassReport, checkpoints: int | None) -> None:
        folds = {key: value for key, value in report.folds.items() if key != "degraded"}
        scope.settle(
            outcome=report.outcome,
            reason=report.reason,
            tokens_after=report.request_after,
            entries_after=len(report.rendered.entries),
            tokens_freed=self._facts.size.tokens - report.request_after,
            stages=[record.name for record in report.records if record.outcome == "applied"],
            checkpoints=checkpoints,
            error_type=type(report.error).__name__ if report.outcome == "failed" else None,
            **folds,
            **self._spent(),
        )

    def _emit(self, event: Any) -> None:
        if self._ctx.emit is not None:
            with suppress(Exception):
                self._ctx.emit(event)

