"""Which stages a pass runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.context.stages.auto_summary import AutoSummaryStage
from lovia.context.stages.middle_snip import MiddleSnipStage
from lovia.context.stages.reactive_summary import ReactiveSummaryStage
from lovia.context.stages.tool_result_budget import ToolResultBudgetStage
from lovia.context.stages.tool_result_retention import ToolResultRetentionStage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.archive import CompactionArchive
    from lovia.context.options import CompactionOptions
    from lovia.context.policy import ContextStage
    from lovia.context.summarizer import Summarizer

__all__ = ["default_stages", "stages_for"]

#: Somebody who asks for a compaction wants a summary, not the removal of the middle.
_NOT_BY_HAND = frozenset({MiddleSnipStage.name, ToolResultRetentionStage.name})


def default_stages(
    options: CompactionOptions,
    *,
    summarizer: Summarizer | None = None,
    archive: CompactionArchive | None = None,
) -> list[ContextStage]:
    """Return the five stages in their order, set up by the policy's settings."""
    kept = frozenset(options.keep_tools)
    return [
        ToolResultBudgetStage(
            budget_chars=options.tool_result_budget_chars,
            large_chars=options.large_tool_result_chars,
            preview_chars=options.tool_result_preview_chars,
            archive=archive,
            keep_tools=kept,
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
            keep_tools=kept,
            timeout=options.summary_timeout_seconds,
        ),
        ReactiveSummaryStage(
            summarizer,
            keep_initial=options.keep_initial_entries,
            keep_recent=options.reactive_keep_recent_entries,
            preview_chars=options.tool_result_preview_chars,
            archive=archive,
            max_failures=options.max_summary_failures,
            keep_tools=kept,
            timeout=options.summary_timeout_seconds,
        ),
    ]


def stages_for(trigger: str, stages: Sequence[ContextStage]) -> list[ContextStage]:
    """Return the stages of a pass, in order.

    After a refusal only those act that act on arrival or on refusals, if there is one of the
    latter; what the others would leave out is folded by it anyway.
    """
    if trigger == "manual":
        return [stage for stage in stages if stage.name not in _NOT_BY_HAND]
    reactive = [stage for stage in stages if getattr(stage, "reactive_only", False)]
    if trigger == "overflow" and reactive:
        return [*(stage for stage in stages if getattr(stage, "on_arrival", False)), *reactive]
    return list(stages)
