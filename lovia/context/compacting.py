"""The default policy: a pipeline of cheap stages, with a summary as the last resort."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lovia.context.announcing import compacted_event
from lovia.context.archive import CompactionArchive
from lovia.context.archive.timed import TimedArchive, timed
from lovia.context.options import CompactionOptions, renamed
from lovia.context.pipeline.calls import Call, CallDesk
from lovia.context.pipeline.due import due, rested, withheld
from lovia.context.pipeline.passes import Pass
from lovia.context.pipeline.report import PassFacts, PassReport
from lovia.context.policy import ContextPolicyResult, ContextStage, PolicyContext, ViewKind
from lovia.context.recall import chars_for, recall_tool
from lovia.context.stages.defaults import default_stages, stages_for
from lovia.context.summarizer import Summarizer
from lovia.context.view.source import fixed_indices
from lovia.events import ArchiveCallback
from lovia.tokens.counter import TokenCounter
from lovia.transcript.entries import TranscriptEntry
from lovia_otel import logs
from lovia_otel.logs import Actor

if TYPE_CHECKING:
    from lovia.errors import ContextOverflowError
    from lovia.tools import Tool


__all__ = ["CompactingContextPolicy"]

_log = logging.getLogger("lovia.context")


class CompactingContextPolicy:
    """Keeps requests inside the model's window, cheaply, and says what it did.

    The transcript is never touched: the policy returns a view. A decision once made is replayed
    byte for byte, so prompt prefixes stay cacheable; new decisions come in rare bursts, between
    trigger and target.

    Args:
        context_window_tokens: The model's window in tokens; ``None``: ask the provider, then learn
            from its rejection.
        trigger_ratio: Share of the window above which the policy acts.
        target_ratio: Share of the window that a pass aims for.
        trigger_tokens: Absolute trigger in tokens; the lower of the two triggers holds.
        max_entries: Entries of the view above which the middle is snipped; ``None``: never for this
            reason.
        keep_initial_entries: First entries that stay, the leading system block included; unless it
            is 0, so does the first message after that block.
        keep_recent_entries: Entries at the end that stay.
        reactive_keep_recent_entries: The same after the provider refused a request.
        keep_recent_tool_results: The newest tool results that are never cleared.
        tool_result_budget_chars: Characters that the results of one batch may have together.
        large_tool_result_chars: Characters above which a single result is archived as it arrives.
        tool_result_preview_chars: Characters of the preview that stays of an archived result.
        reserve_output_tokens: Tokens of the window kept free for the answer.
        summarizer: Writes summaries; ``None``: the run's own model does.
        archive: Keeps what leaves the view; ``None``: previews promise nothing.
        max_summary_failures: Consecutive failed summaries at which the circuit breaker opens.
        max_reactive_retries: How often a refused request is made smaller and sent again.
        on_compacted: Called with every :class:`~lovia.events.ContextCompacted`.
        stages: Stages to run instead of the five.
        keep_tools: Results of these tools stay word for word. Only a request that would not fit the
            window otherwise touches them, last, and its stage says so.
        pinned: Entries that stay word for word.
        token_counter: Counts tokens; ``None``: the provider's own counter, the model's tokenizer,
            or bytes, whichever is there.
        summary_cooldown_seconds: Seconds after which an open circuit breaker lets one attempt
            through.
        summary_timeout_seconds: Seconds that one call of the summarizer may take, retries
            included, before its summary counts as failed; ``None``: no limit. A summarizer with a
            longer ``timeout`` of its own is given that.
        archive_timeout_seconds: Seconds that the archive has for one thing, before the pass goes on
            without it; ``None``: no limit. It is then not asked again for a minute.
        name: Names the policy in telemetry and keys its part of ``ctx.state``.

    Raises:
        UserError: A setting makes no sense; the message names it.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the public keyword surface of the policy
        self,
        context_window_tokens: int | None = None,
        trigger_ratio: float = 0.8,
        target_ratio: float = 0.6,
        trigger_tokens: int | None = None,
        max_entries: int | None = 80,
        keep_initial_entries: int = 3,
        keep_recent_entries: int = 40,
        reactive_keep_recent_entries: int = 8,
        keep_recent_tool_results: int = 3,
        tool_result_budget_chars: int = 200_000,
        large_tool_result_chars: int = 20_000,
        tool_result_preview_chars: int = 2_000,
        reserve_output_tokens: int | None = None,
        summarizer: Summarizer | None = None,
        archive: CompactionArchive | None = None,
        max_summary_failures: int = 3,
        max_reactive_retries: int = 1,
        on_compacted: ArchiveCallback | None = None,
        stages: Sequence[ContextStage] | None = None,
        keep_tools: Collection[str] = (),
        pinned: Callable[[TranscriptEntry], bool] | None = None,
        token_counter: TokenCounter | None = None,
        *,
        summary_cooldown_seconds: float = 300.0,
        summary_timeout_seconds: float | None = 300.0,
        archive_timeout_seconds: float | None = 10.0,
        name: str = "compacting",
        **old_names: Any,
    ) -> None:
        settings = {
            key: value for key, value in locals().items() if key in CompactionOptions.FIELDS
        }
        self.options: CompactionOptions = CompactionOptions(
            **{**settings, **renamed(old_names, settings)}
        )
        self.name = name
        self.archive = archive
        self._timed: TimedArchive | None = None
        self.on_compacted = on_compacted
        if stages is None:
            stages = default_stages(self.options, summarizer=summarizer, archive=self._in_time())
        self.stages: tuple[ContextStage, ...] = tuple(stages)
        self._pinned = pinned
        self._desk = CallDesk(self.options, name=name, counter=token_counter)

    @property
    def max_reactive_retries(self) -> int:
        """How often a refused request is made smaller and sent again."""
        return self.options.max_reactive_retries

    @property
    def context_window_tokens(self) -> int | None:
        """The configured window in tokens, or ``None``."""
        return self.options.context_window_tokens

    def tools(self) -> list[Tool]:
        """Return the tool by which the model gets removed content back."""

        def most_chars() -> int:
            return chars_for(self._desk.smallest_window)

        return [recall_tool(self._in_time(), most_chars=most_chars)]

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the view for the next call, compacting when it is due.

        Args:
            entries: The transcript; never edited. Returned as the view itself while nothing
                differs.
            ctx: The call.

        Raises:
            RunCancelled: A stop was requested; finished folds are kept.
            BudgetExceeded: The run's budget was spent between folds; finished folds are kept.
        """
        async with self._desk.prepared(entries, ctx) as call:
            trigger = due(call, self.options, self.stages)
            if trigger is None:
                self._tell_withheld(call)
                return self._replay(call)
            return await self._compact(call, trigger)

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Return a smaller view after the provider refused the last one, and learn its window."""
        async with self._desk.prepared(entries, ctx, refused=True) as call:
            limits = self._desk.learn_from_refusal(call, error.reported_window)
            size = call.size
            if limits.window is not None and size.tokens <= limits.window:
                # It did not fit although we thought it would: the provider counts more than we do.
                tokens = limits.window + 1
                size = replace(size, tokens=tokens, scale=tokens / max(size.raw, 1))
            return await self._compact(replace(call, limits=limits, size=size), "overflow")

    async def compact_now(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, focus: str | None = None
    ) -> ContextPolicyResult:
        """Summarise everything before a short tail because somebody asked for it.

        Args:
            entries: The transcript.
            ctx: The call.
            focus: What the summary should dwell on.
        """
        async with self._desk.prepared(entries, ctx) as call:
            return await self._compact(call, "manual", focus=focus)

    def _replay(self, call: Call) -> ContextPolicyResult:
        """Return the view as earlier decisions give it; no pass, no span."""
        view = call.memory.view
        call.memory.prepared(call.model, call.size.raw)
        sizes = call.sizes(call.size.tokens)
        told = {"breaker": self._breaker(call)}
        if view.is_original:
            return ContextPolicyResult(call.entries, changed=False, sizes=sizes, metadata=told)
        entries = list(view.rendered().entries)
        return ContextPolicyResult(
            entries, changed=True, sizes=sizes, view="replayed", metadata=told
        )

    def _tell_withheld(self, call: Call) -> None:
        """Tell why there is no pass, where the request is above a limit all the same."""
        reason = withheld(call, self.options)
        if reason is not None:
            ctx = call.ctx
            who = Actor(agent=ctx.agent, run_id=ctx.run_id, session_id=ctx.session_id)
            logs.compaction_skipped(reason=reason, policy=self.name, actor=who)

    async def _compact(
        self, call: Call, trigger: str, *, focus: str | None = None
    ) -> ContextPolicyResult:
        before = call.memory.view.decisions
        run = Pass(self._facts(call, trigger, focus), call.memory, call.ctx, self._in_time())
        try:
            report = await run.run(stages_for(trigger, self.stages))
        except BaseException:
            if call.memory.view.decisions != before:
                call.memory.stale_count = call.ctx.last_input_tokens
                self._desk.save(call)
            raise
        call = replace(call, limits=report.limits)
        self._commit(call, report, changed=report.decisions != before)
        call.memory.stall = rested(call, report, trigger, self.options)
        result = self._result(call, report)
        if report.outcome in {"compacted", "partial"} and self.on_compacted is not None:
            await self._announce(call, result, reactive=trigger == "overflow")
        return result

    def _facts(self, call: Call, trigger: str, focus: str | None) -> PassFacts:
        fixed = fixed_indices(
            call.memory.view,
            window=call.limits.window,
            size=call.entry_tokens,
            pinned=self._pinned,
        )
        return PassFacts(
            trigger=trigger,
            policy=self.name,
            size=call.size,
            limits=call.limits,
            history=call.history,
            counter=call.counter,
            new_from=call.memory.sent,
            fixed=fixed,
            learn=partial(self._desk.learn_from_refusal, call),
            focus=focus,
        )

    def _commit(self, call: Call, report: PassReport, *, changed: bool) -> None:
        """Make the pass's decisions the memory: first the view, then its saved form."""
        memory = call.memory
        if changed:
            memory.view.adopt(report.decisions, report.rendered)
            memory.stale_count = call.ctx.last_input_tokens
        memory.prepared(call.model, memory.view.view_tokens + call.overhead)
        self._desk.save(call)

    def _result(self, call: Call, report: PassReport) -> ContextPolicyResult:
        view = call.memory.view
        kind: ViewKind = "original" if view.is_original else "replayed"
        if report.outcome in {"compacted", "partial"}:
            kind = "compacted"
        told = {"pass_id": report.pass_id, "breaker": self._breaker(call), **report.folds}
        return ContextPolicyResult(
            entries=call.entries if view.is_original else list(view.rendered().entries),
            changed=not view.is_original,
            summary=report.summary,
            reason=report.reason,
            metadata=told,
            outcome=report.outcome,
            sizes=call.sizes(report.request_after),
            stages=report.records,
            archive_ref=report.archive_ref,
            view=kind,
            usage=report.usage,
            error=report.error if report.outcome == "failed" else None,
        )

    def _in_time(self) -> TimedArchive | None:
        """Return the archive with its time limit, the same as long as the archive is the same."""
        if self._timed is None or self._timed.archive is not self.archive:
            self._timed = timed(self.archive, self.options.archive_timeout_seconds)
        return self._timed

    def _breaker(self, call: Call) -> str:
        return call.memory.breaker.state(self.options.summary_cooldown_seconds)

    async def _announce(self, call: Call, result: ContextPolicyResult, *, reactive: bool) -> None:
        event = compacted_event(result, call.entries, ctx=call.ctx, reactive=reactive)
        try:
            await self.on_compacted(event)  # type: ignore[misc] # checked by the caller
        except Exception:  # noqa: BLE001 - logged; a user's callback may raise anything
            _log.exception("The on_compacted callback failed; what it was told of stands.")
