"""What is sent: policies turn the transcript into the view that one model call sees."""

from __future__ import annotations

from lovia.context.archive import CompactionArchive, FileCompactionArchive
from lovia.context.compact_protocol import CompactionRequest, ContextResult
from lovia.context.compacting import CompactingContextPolicy
from lovia.context.compaction import Compaction
from lovia.context.compat import (
    NoopContextPolicy,
    SummarizingContextPolicy,
    extract_compaction_summary,
)
from lovia.context.pipeline.sizing import current_prompt_tokens
from lovia.context.policy import (
    ArchiveRef,
    ContextPolicy,
    ContextPolicyResult,
    ContextSizes,
    ContextStage,
    PolicyContext,
    Pressure,
    StageRecord,
    StageResult,
)
from lovia.context.stages import (
    AutoSummaryStage,
    MiddleSnipStage,
    ReactiveSummaryStage,
    ToolResultBudgetStage,
    ToolResultRetentionStage,
)
from lovia.context.summarizer import ExtractiveSummarizer, LLMSummarizer, Summarizer, Summary
from lovia.context.summary_entry import make_summary_entry
from lovia.events.former import former_event

__all__ = [
    "ArchiveRef",
    "AutoSummaryStage",
    "CompactingContextPolicy",
    "Compaction",
    "CompactionArchive",
    "CompactionRequest",
    "ContextPolicy",
    "ContextPolicyResult",
    "ContextResult",
    "ContextSizes",
    "ContextStage",
    "ExtractiveSummarizer",
    "FileCompactionArchive",
    "LLMSummarizer",
    "MiddleSnipStage",
    "NoopContextPolicy",
    "PolicyContext",
    "Pressure",
    "ReactiveSummaryStage",
    "StageRecord",
    "StageResult",
    "Summarizer",
    "SummarizingContextPolicy",
    "Summary",
    "ToolResultBudgetStage",
    "ToolResultRetentionStage",
    "current_prompt_tokens",
    "extract_compaction_summary",
    "make_summary_entry",
]


def __getattr__(name: str) -> object:
    return former_event(name, __name__)
