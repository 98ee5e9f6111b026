"""lovia: an agent runtime whose context compaction is correct, cheap and observable.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lovia import events
    from lovia.cancellation import (
        CancelToken,
    )
    from lovia.context import (
        ArchiveRef,
        AutoSummaryStage,
        CompactingContextPolicy,
        Compaction,
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
        CheckpointConflict,
        CheckpointDamaged,
        CheckpointError,
        ContextOverflowError,
        GuardrailTripped,
        InvalidToolArguments,
        InvalidViewError,
        LoviaError,
        MaxTurnsExceeded,
        OutputValidationError,
        ProviderError,
        RunCancelled,
        RunSuspended,
        SessionConflict,
        StoreError,
        ToolError,
        TranscriptFormatError,
        UserError,
    )
    from lovia.hooks import (
        AgentHooks,
    )
    from lovia.providers.anthropic import (
        AnthropicProvider,
    )
    from lovia.providers.base import (
        ModelSettings,
        Provider,
    )
    from lovia.providers.openai import (
        OpenAIChatProvider,
        OpenAIResponsesProvider,
    )
    from lovia.retry import (
        RetryPolicy,
    )
    from lovia.runtime import (
        Agent,
        ApprovalChannel,
        CheckpointOptions,
        Handoff,
        Mailbox,
        OutputRepairStrategy,
        Plugin,
        PluginInstance,
        RunContext,
        RunHandle,
        Runner,
        RunResult,
        compact_session,
    )
    from lovia.stores import (
        Checkpointer,
        InMemoryCheckpointer,
        InMemorySession,
        RunHead,
        RunSnapshot,
        Segment,
        Session,
        SQLiteCheckpointer,
        SQLiteSession,
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
    from lovia.transcript.messages import (
        Message,
        assistant,
        system,
        user,
    )
    from lovia.usage import (
        RunBudget,
        Usage,
    )

__all__ = [
    "Agent",
    "AgentHooks",
    "AnthropicProvider",
    "ApprovalChannel",
    "ArchiveRef",
    "AssistantTextEntry",
    "AutoSummaryStage",
    "BudgetExceeded",
    "CancelToken",
    "CheckpointConflict",
    "CheckpointDamaged",
    "CheckpointError",
    "CheckpointOptions",
    "Checkpointer",
    "CompactingContextPolicy",
    "Compaction",
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
    "InMemoryCheckpointer",
    "InMemorySession",
    "InputEntry",
    "InvalidToolArguments",
    "InvalidViewError",
    "LLMSummarizer",
    "LoviaError",
    "Mailbox",
    "MaxTurnsExceeded",
    "Message",
    "MiddleSnipStage",
    "ModelSettings",
    "NoopContextPolicy",
    "OpenAIChatProvider",
    "OpenAIResponsesProvider",
    "OutputRepairStrategy",
    "OutputValidationError",
    "Plugin",
    "PluginInstance",
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
    "RunHead",
    "RunResult",
    "RunSnapshot",
    "RunSuspended",
    "Runner",
    "SQLiteCheckpointer",
    "SQLiteSession",
    "Segment",
    "Session",
    "SessionConflict",
    "StageRecord",
    "StageResult",
    "StoreError",
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
    "compact_session",
    "current_prompt_tokens",
    "events",
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
        "Compaction",
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
        "CheckpointConflict",
        "CheckpointDamaged",
        "CheckpointError",
        "ContextOverflowError",
        "GuardrailTripped",
        "InvalidToolArguments",
        "InvalidViewError",
        "LoviaError",
        "MaxTurnsExceeded",
        "OutputValidationError",
        "ProviderError",
        "RunCancelled",
        "RunSuspended",
        "SessionConflict",
        "StoreError",
        "ToolError",
        "TranscriptFormatError",
        "UserError",
    ),
    "lovia.hooks": ("AgentHooks",),
    "lovia.providers.anthropic": ("AnthropicProvider",),
    "lovia.providers.base": (
        "ModelSettings",
        "Provider",
    ),
    "lovia.providers.openai": (
        "OpenAIChatProvider",
        "OpenAIResponsesProvider",
    ),
    "lovia.retry": ("RetryPolicy",),
    "lovia.runtime": (
        "Agent",
        "ApprovalChannel",
        "CheckpointOptions",
        "Handoff",
        "Mailbox",
        "OutputRepairStrategy",
        "Plugin",
        "PluginInstance",
        "RunContext",
        "RunHandle",
        "RunResult",
        "Runner",
        "compact_session",
    ),
    "lovia.stores": (
        "Checkpointer",
        "InMemoryCheckpointer",
        "InMemorySession",
        "RunHead",
        "RunSnapshot",
        "SQLiteCheckpointer",
        "SQLiteSession",
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
    "lovia.transcript.messages": (
        "Message",
        "assistant",
        "system",
        "user",
    ),
    "lovia.usage": (
        "RunBudget",
        "Usage",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "events":
        return import_module("lovia.events")
    home = _HOME_OF.get(name)
    if home is None:
        return import_module("lovia.events.former").former_event(name, __name__)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
