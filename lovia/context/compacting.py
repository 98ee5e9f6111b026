"""The default policy: a pipeline of cheap stages, with a summary as the last resort."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lovia.context.archive import CompactionArchive
from lovia.context.counters import CounterChoice
from lovia.context.memory import Flights, MemoryStore, SessionMemory, Stall
from lovia.context.options import CompactionOptions, renamed
from lovia.context.passes import Pass, PassFacts, PassReport
from lovia.context.policy import ContextPolicyResult, ContextSizes, ContextStage, PolicyContext
from lovia.context.recall import recall_tool
from lovia.context.sizing import ModelFacts, RequestSize, WindowLimits, facts_key
from lovia.context.source import fixed_indices
from lovia.context.stages import (
    AutoSummaryStage,
    MiddleSnipStage,
    ReactiveSummaryStage,
    ToolResultBudgetStage,
    ToolResultRetentionStage,
)
from lovia.context.summarizer import Summarizer
from lovia.context.view import Sync
from lovia.errors import ContextOverflowError
from lovia.events import ArchiveCallback, ContextCompacted
from lovia.providers.base import provider_window
from lovia.tokens.counter import TokenCounter
from lovia.transcript.entries import TranscriptEntry

if TYPE_CHECKING:
    from lovia.tool import Tool

__all__ = ["CompactingContextPolicy"]

_log = logging.getLogger("lovia.context")
#: A pass that frees a smaller share of the request was not worth its while.
_USEFUL_SHARE = 0.01
#: After a useless pass, how much the request has to grow before the next one; then after several.
_GROWTH, _GROWTH_STALLED = 1.05, 1.25
_STALLED_AFTER = 2


@dataclass
class _Call:
    """One call of the policy: the conversation, and how large its request is."""

    ctx: PolicyContext
    entries: list[TranscriptEntry]
    memory: SessionMemory
    sync: Sync
    counter: TokenCounter
    overhead: int
    size: RequestSize
    limits: WindowLimits
    key: str

    @property
    def history(self) -> int:
        """Tokens of the whole transcript as a request."""
        return round((self.memory.view.history_tokens + self.overhead) * self.size.scale)

    def sizes(self, request_after: int) -> ContextSizes:
        return ContextSizes(
            history=self.history,
            request_before=self.size.tokens,
            request_after=request_after,
            window=self.limits.window,
            source=self.size.source,
        )


class CompactingContextPolicy:
    """Keeps requests inside the model's window, cheaply, and says what it did.

    The transcript is never touched: the policy returns a view. A decision once made is replayed byte for
    byte, so prompt prefixes stay cacheable; new decisions come in rare bursts, between trigger and target.

    Args:
        context_window_tokens: The model's window in tokens; ``None``: ask the provider, then learn from
            its rejection.
        trigger_ratio: Share of the window above which the policy acts.
        target_ratio: Share of the window that a pass aims for.
        trigger_tokens: Absolute trigger in tokens; the lower of the two triggers holds.
        max_entries: Entries of the view above which the middle is snipped; ``None``: never for this reason.
        keep_initial_entries: First entries that stay, the leading system block included.
        keep_recent_entries: Entries at the end that stay.
        reactive_keep_recent_entries: The same after the provider refused a request.
        keep_recent_tool_results: The newest tool results that are never cleared.
        tool_result_budget_chars: Characters that the results of one batch may have together.
        large_tool_result_chars: Characters above which a single result is archived as it arrives.
        tool_result_preview_chars: Characters of the preview that stays of an archived result.
        reserve_output_tokens: Tokens of the window kept free for the answer.
        summarizer: Writes summaries; ``None``: the run's own model does.
        archive: Keeps what leaves the view; ``None``: previews promise nothing.
        max_summary_failures: Consecutive rejected summaries at which the circuit breaker opens.
        max_reactive_retries: How often a refused request is made smaller and sent again.
        on_compacted: Called with every :class:`~lovia.events.ContextCompacted`.
        stages: Stages to run instead of the five.
        keep_tools: Results of these tools are never cleared.
        pinned: Entries that stay word for word.
        token_counter: Counts tokens; ``None``: the provider's own counter, the model's tokenizer, or
            bytes, whichever is there.
        summary_cooldown_seconds: Seconds after which an open circuit breaker lets one attempt through.
        name: Names the policy in telemetry and keys its part of ``ctx.state``.

    Raises:
        UserError: A setting makes no sense; the message names it.
    """

    def __init__(
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
        name: str = "compacting",
        **old_names: Any,
    ) -> None:
        settings = {key: value for key, value in locals().items() if key in CompactionOptions.FIELDS}
        self.options = CompactionOptions(**{**settings, **renamed(old_names)})
        self.name = name
        self.archive = archive
        self.on_compacted = on_compacted
        self.stages: tuple[ContextStage, ...] = tuple(
            self._default_stages(summarizer) if stages is None else stages
        )
        self._pinned = pinned
        self._counters = CounterChoice(token_counter)
        self._store = MemoryStore(name)
        self._flights = Flights()
        self._models: dict[str, ModelFacts] = {}
        self._warned_of_stall = False

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
        return [recall_tool(self.archive)]

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> ContextPolicyResult:
        """Return the view for the next call, compacting when it is due.

        Args:
            entries: The transcript; never edited. Returned as the view itself while nothing differs.
            ctx: The call.

        Raises:
            RunCancelled: A stop was requested; finished folds are kept.
            BudgetExceeded: The run's budget was spent between folds; finished folds are kept.
        """
        async with self._prepared(entries, ctx) as call:
            trigger = self._trigger(call)
            if trigger is None:
                return self._replay(call)
            return await self._compact(call, trigger)

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Return a smaller view after the provider refused the last one, and learn its window."""
        async with self._prepared(entries, ctx) as call:
            facts = self._facts(call.key, call.memory).rejected(call.size.tokens, error.reported_window)
            self._learn(call, facts)
            limits = self._limits(ctx, facts)
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
        async with self._prepared(entries, ctx) as call:
            return await self._compact(call, "manual", focus=focus)

    @asynccontextmanager
    async def _prepared(self, entries: list[TranscriptEntry], ctx: PolicyContext) -> AsyncIterator[_Call]:
        """Give the call its conversation, up to date and for itself alone."""
        counter = await self._counters.of(ctx)
        key = ctx.session_id if ctx.session_id is not None else id(ctx.state)
        async with self._flights.turn(key):
            memory, sync = self._store.open(entries, ctx, counter)
            overhead = memory.request_overhead(ctx, counter)
            model = facts_key(ctx, counter)
            call = _Call(
                ctx=ctx,
                entries=entries,
                memory=memory,
                sync=sync,
                counter=counter,
                overhead=overhead,
                size=self._measure(memory, ctx, counter, overhead, model),
                limits=self._limits(ctx, self._facts(model, memory)),
                key=model,
            )
            yield call

    def _measure(
        self, memory: SessionMemory, ctx: PolicyContext, counter: TokenCounter, overhead: int, model: str
    ) -> RequestSize:
        """Size the request, and learn from the provider's count of the one before."""
        reported = ctx.last_input_tokens
        if reported is not None and reported == memory.stale_count:
            reported = None  # it was taken before a pass changed the view
        if reported is not None and memory.last_raw:
            memory.models[model] = self._facts(model, memory).observe(memory.last_raw, reported)
            self._models[model] = memory.models[model]
        raw = memory.view.view_tokens + overhead
        return RequestSize.of(raw, self._facts(model, memory), reported, counter.source)

    def _facts(self, model: str, memory: SessionMemory) -> ModelFacts:
        return memory.models.get(model) or self._models.get(model) or ModelFacts()

    def _learn(self, call: _Call, facts: ModelFacts) -> None:
        call.memory.models[call.key] = facts
        self._models[call.key] = facts

    def _limits(self, ctx: PolicyContext, facts: ModelFacts) -> WindowLimits:
        options = self.options
        return WindowLimits.of(
            configured=options.context_window_tokens,
            stated=provider_window(ctx.provider),
            learned=facts.window,
            reserve=options.reserve_output_tokens or 0,
            trigger_ratio=options.trigger_ratio,
            target_ratio=options.target_ratio,
            trigger_tokens=options.trigger_tokens,
        )

    def _trigger(self, call: _Call) -> str | None:
        """Return why a pass is due, or ``None``."""
        new = call.entries[call.sync.new_from :]
        arrived = [stage for stage in self.stages if getattr(stage, "on_arrival", False)]
        batch = "batch" if any(stage.wants(new) for stage in arrived) else None  # type: ignore[attr-defined]
        options, view = self.options, call.memory.view
        over = call.limits.trigger is not None and call.size.tokens > call.limits.trigger
        crowded = options.max_entries is not None and view.view_length > options.max_entries
        if not (over or crowded) or self._is_stalled(call):
            return batch
        return "threshold" if over else "entries"

    def _is_stalled(self, call: _Call) -> bool:
        """Tell whether passes stopped being worth it and the request has hardly grown since."""
        stall = call.memory.stall
        if stall is None:
            return False
        growth = _GROWTH if stall.count < _STALLED_AFTER else _GROWTH_STALLED
        grown = call.size.tokens > stall.tokens * growth
        return not grown and call.memory.view.view_length <= stall.entries * growth

    def _replay(self, call: _Call) -> ContextPolicyResult:
        """Return the view as earlier decisions give it; no pass, no span."""
        view = call.memory.view
        call.memory.last_raw = call.size.raw
        call.memory.stale_count = None
        if view.is_original:
            return ContextPolicyResult(call.entries, changed=False, sizes=call.sizes(call.size.tokens))
        entries = list(view.rendered().entries)
        return ContextPolicyResult(
            entries, changed=True, sizes=call.sizes(call.size.tokens), view="replayed"
        )

    async def _compact(self, call: _Call, trigger: str, *, focus: str | None = None) -> ContextPolicyResult:
        memory, ctx = call.memory, call.ctx
        run = Pass(self._pass_facts(call, trigger, focus), memory, ctx, self.archive)
        before = memory.view.decisions
        try:
            report = await run.run(self._stages_for(trigger))
        except BaseException:
            if memory.view.decisions != before:
                self._store.write(memory, ctx)
            raise
        self._commit(call, report, before_changed=report.decisions != before)
        result = self._result(call, report)
        if report.outcome in ("compacted", "partial"):
            await self._announce(call, report, result, reactive=trigger == "overflow")
        return result

    def _pass_facts(self, call: _Call, trigger: str, focus: str | None) -> PassFacts:
        def size(entry: TranscriptEntry) -> int:
            return round(call.counter.entry(entry) * call.size.scale)

        fixed = fixed_indices(
            call.memory.view, window=call.limits.window, size=size, pinned=self._pinned
        )
        return PassFacts(
            trigger=trigger,
            policy=self.name,
            size=call.size,
            limits=call.limits,
            overhead=call.overhead,
            counter=call.counter,
            new_from=call.sync.new_from,
            fixed=fixed,
            focus=focus,
        )

    def _stages_for(self, trigger: str) -> list[ContextStage]:
        """Return the stages of a pass; after a refusal, only what acts on arrival or on refusals."""
        special = [stage for stage in self.stages if getattr(stage, "reactive_only", False)]
        if trigger == "overflow" and special:
            arrived = [stage for stage in self.stages if getattr(stage, "on_arrival", False)]
            return [*arrived, *special]
        if trigger == "manual":
            cheap = ("middle_snip", "tool_result_retention")
            return [stage for stage in self.stages if stage.name not in cheap]
        return list(self.stages)

    def _commit(self, call: _Call, report: PassReport, *, before_changed: bool) -> None:
        """Make the pass's decisions the memory: first the view, then its saved form, in one step."""
        memory = call.memory
        if before_changed:
            memory.view.adopt(report.decisions, report.rendered)
            memory.stale_count = call.ctx.last_input_tokens
        memory.last_raw = memory.view.view_tokens + call.overhead
        freed = call.size.tokens - report.request_after
        useful = before_changed and freed >= call.size.tokens * _USEFUL_SHARE
        count = 0 if useful else (memory.stall.count if memory.stall else 0) + 1
        memory.stall = Stall(count, report.request_after, memory.view.view_length) if count else None
        if count == _STALLED_AFTER and not self._warned_of_stall:
            self._warned_of_stall = True
            _log.warning(
                "Compaction cannot make the request of %d tokens much smaller; it rests until the request grows.",
                report.request_after,
            )
        self._store.write(memory, call.ctx)

    def _result(self, call: _Call, report: PassReport) -> ContextPolicyResult:
        view = call.memory.view
        acted = report.outcome in ("compacted", "partial")
        kind = "compacted" if acted else ("original" if view.is_original else "replayed")
        cooldown = self.options.summary_cooldown_seconds
        return ContextPolicyResult(
            entries=call.entries if view.is_original else list(view.rendered().entries),
            changed=not view.is_original,
            summary=report.summary,
            reason=report.reason,
            metadata={"pass_id": report.pass_id, "breaker": call.memory.breaker.state(cooldown), **report.folds},
            outcome=report.outcome,
            sizes=call.sizes(report.request_after),
            stages=report.records,
            archive_ref=report.archive_ref,
            view=kind,  # type: ignore[arg-type] # one of the three words above
            usage=report.usage,
        )

    async def _announce(
        self, call: _Call, report: PassReport, result: ContextPolicyResult, *, reactive: bool
    ) -> None:
        if self.on_compacted is None:
            return
        ctx = call.ctx
        event = ContextCompacted.of(result, call.entries, ctx=ctx, reactive=reactive)
        try:
            await self.on_compacted(event)
        except Exception:
            _log.exception("The on_compacted callback failed; the pass %s stands.", report.pass_id)

    def _default_stages(self, summarizer: Summarizer | None) -> list[ContextStage]:
        options = self.options
        kept = frozenset(options.keep_tools)
        return [
            ToolResultBudgetStage(
                budget_chars=options.tool_result_budget_chars,
                large_chars=options.large_tool_result_chars,
                preview_chars=options.tool_result_preview_chars,
                archive=self.archive,
            ),
            MiddleSnipStage(
                max_entries=options.max_entries,
                keep_initial=options.keep_initial_entries,
                keep_recent=options.keep_recent_entries,
                keep_tools=kept,
            ),
            ToolResultRetentionStage(keep_recent=options.keep_recent_tool_results, keep_tools=kept),
            AutoSummaryStage(
                summarizer,
                keep_initial=options.keep_initial_entries,
                keep_recent=options.keep_recent_entries,
                manual_keep_recent=options.reactive_keep_recent_entries,
                max_failures=options.max_summary_failures,
                cooldown=options.summary_cooldown_seconds,
            ),
            ReactiveSummaryStage(
                summarizer,
                keep_initial=options.keep_initial_entries,
                keep_recent=options.reactive_keep_recent_entries,
                preview_chars=options.tool_result_preview_chars,
                archive=self.archive,
                max_failures=options.max_summary_failures,
            ),
        ]
