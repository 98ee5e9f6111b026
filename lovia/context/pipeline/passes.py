"""One pass: stage after stage, each validated, inside spans, interruptible anywhere."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lovia.context.pipeline.removed import save_removed
from lovia.context.pipeline.report import FoldTally, PassReport, outcome_of, reason_of
from lovia.context.policy import (
    ContextStage,
    PassOutcome,
    PolicyContext,
    Pressure,
    StageOutcome,
    StageRecord,
    StageResult,
)
from lovia.context.stages.summarising import SummaryStageResult
from lovia.context.view.provenance import read_back
from lovia.context.view.rendering import Rendered
from lovia.context.view.source import Source
from lovia.context.view.validity import check_decisions
from lovia.errors import BudgetExceeded, InvalidViewError, RunCancelled
from lovia.events import CompactionEnded, CompactionStarted
from lovia.providers.base import model_name, provider_name
from lovia_otel import PassScope, StageScope, pass_scope, stage_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.archive import CompactionArchive
    from lovia.context.pipeline.memory import SessionMemory
    from lovia.context.pipeline.report import PassFacts
    from lovia.context.view.decisions import Decisions
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Pass"]

_log = logging.getLogger("lovia.context")


class Pass:
    """Runs stages over one conversation's view.

    Args:
        facts: What the pass starts from.
        memory: The conversation.
        ctx: The call.
        archive: Keeps what the pass removes.
    """

    def __init__(
        self,
        facts: PassFacts,
        memory: SessionMemory,
        ctx: PolicyContext,
        archive: CompactionArchive | None,
    ) -> None:
        self.id: str = secrets.token_hex(8)
        self._facts = facts
        self._memory = memory
        self._ctx = ctx
        self._archive = archive
        self._decisions = memory.view.decisions
        self._rendered = memory.view.rendered()
        self._request = facts.size.tokens
        self._engaged = facts.trigger in ("overflow", "manual")
        self._records: list[StageRecord] = []
        self._kept: tuple[Rendered, Callable[[], list[TranscriptEntry]]] | None = None
        self._tally = FoldTally(ctx.usage)
        self._error: BaseException | None = None

    async def run(self, stages: Sequence[ContextStage]) -> PassReport:
        """Run the stages and return what they came to; nothing is committed here."""
        ctx, facts = self._ctx, self._facts
        ctx.checkpoint("pass")
        checkpoints = ctx.cancel.checkpoints_passed if ctx.cancel else 0
        ctx.tell(CompactionStarted(self.id, facts.trigger, facts.size.tokens, ctx.session_id))
        with self._scope() as scope:
            try:
                for index, stage in enumerate(stages):
                    ctx.checkpoint("stage")
                    await self._run_stage(index, stage)
                    if self._facts.limits != facts.limits:  # the stage found the window smaller
                        facts = self._facts
                        await self._run_stage(index, stage)
                report = await self._conclude()
            except BaseException as error:
                self._interrupted(scope, error)
                raise
            passed = ctx.cancel.checkpoints_passed - checkpoints if ctx.cancel else None
            self._settle(scope, report, passed)
        ctx.tell(CompactionEnded(report.outcome, self.id, report.request_after))
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
            history_tokens=facts.history,
            tokens_source=facts.size.source,
        )

    async def _run_stage(self, index: int, stage: ContextStage) -> None:
        why_not = self._gate(stage)
        if why_not is not None:
            self._records.append(
                StageRecord(stage.name, "skipped", self._request, self._request, why_not)
            )
            return
        before, started = self._request, time.perf_counter()
        with stage_scope(stage=stage.name, index=index, tokens_before=before) as scope:
            outcome, note = await self._apply(stage, scope)
            entries = len(self._rendered.entries)
            scope.settle(
                outcome=outcome, tokens_after=self._request, entries_after=entries, note=note
            )
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

    async def _apply(
        self, stage: ContextStage, scope: StageScope
    ) -> tuple[StageOutcome, str | None]:
        """Ask one stage; whatever it does wrong is its own failure, and its input goes on."""
        given = self._rendered
        handed = list(given.entries)
        ctx = replace(self._ctx, pressure=self._pressure(handed, given))
        try:
            result = await stage.apply(handed, ctx=ctx)
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
        if decisions == self._decisions:
            return False
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
        self._tally.add(result)
        if result.breaker is not None:
            self._memory.breaker = result.breaker
        window = self._facts.limits.window
        if result.window is not None and (window is None or result.window < window):
            self._facts = replace(self._facts, limits=self._facts.learn(result.window))

    def _failed(
        self,
        scope: StageScope,
        outcome: StageOutcome,
        error: BaseException,
        note: str | None = None,
    ) -> tuple[StageOutcome, str]:
        self._error = error
        scope.settle(error=error)
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
        positions = (
            at for at, source_index in enumerate(given.sources) if source_index in facts.fixed
        )
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
            keep=partial(self._keep, given),
        )

    def _keep(self, given: Rendered, entries: Callable[[], list[TranscriptEntry]]) -> None:
        """Remember a view that holds even if the stage is interrupted from here on."""
        self._kept = (given, entries)

    def _interrupted(self, scope: PassScope, error: BaseException) -> None:
        """Keep finished folds of an interrupted stage; on the way out nothing may await."""
        cancelled = isinstance(error, RunCancelled) or not isinstance(error, Exception)
        outcome: PassOutcome = "cancelled" if cancelled else "failed"
        with suppress(Exception):
            if self._kept is not None:
                given, entries = self._kept
                self._take(StageResult(entries(), changed=True), given)
            self._memory.view.adopt(self._decisions)
        scope.settle(outcome=outcome, tokens_after=self._request)
        spent = self._tally.usage()
        scope.settle(
            summary_input_tokens=spent.input_tokens, summary_output_tokens=spent.output_tokens
        )
        self._ctx.tell(CompactionEnded(outcome, self.id, self._request))

    async def _conclude(self) -> PassReport:
        """Weigh what the stages did; a larger request is not used."""
        facts, view = self._facts, self._memory.view
        outcome = outcome_of(
            self._records,
            changed=self._decisions != view.decisions,
            inflated=self._request > facts.size.tokens,
        )
        report = PassReport(
            pass_id=self.id,
            outcome=outcome,
            decisions=self._decisions,
            rendered=self._rendered,
            request_after=self._request,
            limits=facts.limits,
            records=tuple(self._records),
            usage=self._tally.usage(),
            error=self._error,
            folds=self._tally.folds(),
            summary_failed=self._tally.failed,
        )
        if outcome not in {"compacted", "partial"}:
            unchanged = view.rendered()
            return replace(
                report,
                decisions=view.decisions,
                rendered=unchanged,
                request_after=facts.size.tokens,
            )
        reason = reason_of(self._records, facts.trigger)
        ref = await save_removed(
            view, self._decisions, archive=self._archive, ctx=self._ctx, reason=reason
        )
        return replace(report, reason=reason, summary=self._tally.summary, archive_ref=ref)

    def _settle(self, scope: PassScope, report: PassReport, checkpoints: int | None) -> None:
        if report.summary is not None:
            scope.content(summary=lambda: report.summary)
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
            summary_input_tokens=report.usage.input_tokens,
            summary_output_tokens=report.usage.output_tokens,
        )
