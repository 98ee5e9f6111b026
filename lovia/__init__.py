"""lovia: an agent runtime whose context compaction is correct, cheap and observable.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lovia.cancellation import (
        CancelToken,
    )
    from lovia.context import (
        ArchiveRef,
        AutoSummaryStage,
        CompactingContextPolicy,
        CompactionArchive,
        ContextPolicy,
        ContextPolicyResult,
        ContextSizes,
        ContextStage,
        ExtractiveSummarizer,
        FileCompactionArchive,
        LLMSummarizer,
        MiddleSnipStage,
        NoopContextPolicy,
        PolicyContext,
        Pressure,
        ReactiveSummaryStage,
        StageRecord,
        StageResult,
        Summarizer,
        SummarizingContextPolicy,
        Summary,
        ToolResultBudgetStage,
        ToolResultRetentionStage,
        current_prompt_tokens,
        extract_compaction_summary,
        make_summary_entry,
    )
    from lovia.errors import (
        BudgetExceeded,
        ContextOverflowError,
        GuardrailTripped,
        InvalidToolArguments,
        InvalidViewError,
        LoviaError,
        MaxTurnsExceeded,
        OutputValidationError,
        ProviderError,
        RunCancelled,
        ToolError,
        TranscriptFormatError,
        UserError,
    )
    from lovia.hooks import (
        AgentHooks,
    )
    from lovia.providers.base import (
        ModelSettings,
        Provider,
    )
    from lovia.retry import (
        RetryPolicy,
    )
    from lovia.runtime import (
        Agent,
        ApprovalChannel,
        Handoff,
        Mailbox,
        OutputRepairStrategy,
        RunContext,
        RunHandle,
        Runner,
        RunResult,
        assistant,
        system,
        user,
    )
    from lovia.stores import (
        InMemorySession,
        Segment,
        Session,
    )
    from lovia.tools import (
        Tool,
        tool,
    )
    from lovia.transcript.entries import (
        AssistantTextEntry,
        FilePart,
        ImagePart,
        InputEntry,
        ReasoningEntry,
        TextPart,
        ToolCallEntry,
        ToolResultEntry,
        TranscriptEntry,
    )
    from lovia.usage import (
        RunBudget,
        Usage,
    )

__all__ = [
    "Agent",
    "AgentHooks",
    "ApprovalChannel",
    "ArchiveRef",
    "AssistantTextEntry",
    "AutoSummaryStage",
    "BudgetExceeded",
    "CancelToken",
    "CompactingContextPolicy",
    "CompactionArchive",
    "ContextOverflowError",
    "ContextPolicy",
    "ContextPolicyResult",
    "ContextSizes",
    "ContextStage",
    "ExtractiveSummarizer",
    "FileCompactionArchive",
    "FilePart",
    "GuardrailTripped",
    "Handoff",
    "ImagePart",
    "InMemorySession",
    "InputEntry",
    "InvalidToolArguments",
    "InvalidViewError",
    "LLMSummarizer",
    "LoviaError",
    "Mailbox",
    "MaxTurnsExceeded",
    "MiddleSnipStage",
    "ModelSettings",
    "NoopContextPolicy",
    "OutputRepairStrategy",
    "OutputValidationError",
    "PolicyContext",
    "Pressure",
    "Provider",
    "ProviderError",
    "ReactiveSummaryStage",
    "ReasoningEntry",
    "RetryPolicy",
    "RunBudget",
    "RunCancelled",
    "RunContext",
    "RunHandle",
    "RunResult",
    "Runner",
    "Segment",
    "Session",
    "StageRecord",
    "StageResult",
    "Summarizer",
    "SummarizingContextPolicy",
    "Summary",
    "TextPart",
    "Tool",
    "ToolCallEntry",
    "ToolError",
    "ToolResultBudgetStage",
    "ToolResultEntry",
    "ToolResultRetentionStage",
    "TranscriptEntry",
    "TranscriptFormatError",
    "Usage",
    "UserError",
    "assistant",
    "current_prompt_tokens",
    "extract_compaction_summary",
    "make_summary_entry",
    "system",
    "tool",
    "user",
]

# Where each public name comes from.
_HOMES = {
    "lovia.cancellation": ("CancelToken",),
    "lovia.context": (
        "ArchiveRef",
        "AutoSummaryStage",
        "CompactingContextPolicy",
        "CompactionArchive",
        "ContextPolicy",
        "ContextPolicyResult",
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
    ),
    "lovia.errors": (
        "BudgetExceeded",
        "ContextOverflowError",
        "GuardrailTripped",
        "InvalidToolArguments",
        "InvalidViewError",
        "LoviaError",
        "MaxTurnsExceeded",
        "OutputValidationError",
        "ProviderError",
        "RunCancelled",
        "ToolError",
        "TranscriptFormatError",
        "UserError",
    ),
    "lovia.hooks": ("AgentHooks",),
    "lovia.providers.base": (
        "ModelSettings",
        "Provider",
    ),
    "lovia.retry": ("RetryPolicy",),
    "lovia.runtime": (
        "Agent",
        "ApprovalChannel",
        "Handoff",
        "Mailbox",
        "OutputRepairStrategy",
        "RunContext",
        "RunHandle",
        "RunResult",
        "Runner",
        "assistant",
        "system",
        "user",
    ),
    "lovia.stores": (
        "InMemorySession",
        "Segment",
        "Session",
    ),
    "lovia.tools": (
        "Tool",
        "tool",
    ),
    "lovia.transcript.entries": (
        "AssistantTextEntry",
        "FilePart",
        "ImagePart",
        "InputEntry",
        "ReasoningEntry",
        "TextPart",
        "ToolCallEntry",
        "ToolResultEntry",
        "TranscriptEntry",
    ),
    "lovia.usage": (
        "RunBudget",
        "Usage",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'lovia' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
