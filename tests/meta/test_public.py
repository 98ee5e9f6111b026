"""The public names exist, and no others are shown by accident."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

# The names that users rely on, by the module they are imported from. Adding one here is a promise;
# taking one away breaks somebody's program.
PROMISED: dict[str, set[str]] = {
    "lovia": {
        # what was said
        "AssistantTextEntry",
        "FilePart",
        "ImagePart",
        "InputEntry",
        "ReasoningEntry",
        "TextPart",
        "ToolCallEntry",
        "ToolResultEntry",
        "TranscriptEntry",
        # what is sent
        "ArchiveRef",
        "AutoSummaryStage",
        "CompactingContextPolicy",
        "CompactionArchive",
        "ContextPolicy",
        "ContextPolicyResult",
        "ContextStage",
        "ExtractiveSummarizer",
        "FileCompactionArchive",
        "LLMSummarizer",
        "MiddleSnipStage",
        "NoopContextPolicy",
        "PolicyContext",
        "ReactiveSummaryStage",
        "StageResult",
        "Summarizer",
        "SummarizingContextPolicy",
        "ToolResultBudgetStage",
        "ToolResultRetentionStage",
        "current_prompt_tokens",
        "extract_compaction_summary",
        "make_summary_entry",
        # who speaks next
        "Agent",
        "AgentHooks",
        "AnthropicProvider",
        "CancelToken",
        "CheckpointOptions",
        "Handoff",
        "Mailbox",
        "ModelSettings",
        "OpenAIChatProvider",
        "OpenAIResponsesProvider",
        "Plugin",
        "PluginInstance",
        "RetryPolicy",
        "RunBudget",
        "RunContext",
        "Runner",
        "Usage",
        "compact_session",
        "events",
        "tool",
        # what is kept
        "Checkpointer",
        "InMemoryCheckpointer",
        "InMemorySession",
        "RunHead",
        "RunSnapshot",
        "SQLiteCheckpointer",
        "SQLiteSession",
        "Segment",
        "Session",
        # what can go wrong
        "BudgetExceeded",
        "CheckpointConflict",
        "CheckpointDamaged",
        "CheckpointError",
        "ContextOverflowError",
        "GuardrailTripped",
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
    },
    "lovia.transcript": {
        "EntryCompletedDelta",
        "FinishDelta",
        "ReasoningDelta",
        "TextDelta",
        "ToolCallDelta",
        "UsageDelta",
        "entries_from_json",
        "entries_to_json",
        "load_transcript",
        "validate_view",
    },
    "lovia.events": {
        "ArchiveCallback",
        "CompactionEnded",
        "CompactionStarted",
        "ContextCompacted",
        "HandoffOccurred",
        "MessageCompleted",
        "RunCompleted",
        "RunFailed",
        "RunStarted",
        "SummaryFoldCompleted",
        "TextDelta",
        "ToolCallCompleted",
        "ToolCallStarted",
        "TurnStarted",
    },
    "lovia.testing": {"ScriptedProvider", "batch", "call", "text"},
}

MODULES = [*PROMISED, "lovia_otel"]


@pytest.mark.parametrize("module", PROMISED)
def test_every_promised_name_is_public(module: str) -> None:
    """Each promised name stands in `__all__` of the module that promises it."""
    shown = set(importlib.import_module(module).__all__)
    assert PROMISED[module] - shown == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_exists(module: str) -> None:
    """`__all__` names only what is there, each name once, in an order that a reader can search."""
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []
    assert len(set(loaded.__all__)) == len(loaded.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_object_is_documented(module: str) -> None:
    """Each public class and function says what it is for."""
    loaded = importlib.import_module(module)
    public = {name: getattr(loaded, name) for name in loaded.__all__}
    objects = {n: v for n, v in public.items() if inspect.isclass(v) or inspect.isroutine(v)}
    assert [name for name, value in objects.items() if not value.__doc__] == []


@pytest.mark.parametrize("package", ["lovia", "lovia.transcript", "lovia_otel"])
def test_a_package_lists_what_it_brings_in(package: str) -> None:
    """What the `__init__` of a package imports from its own modules is what `__all__` lists."""
    loaded = importlib.import_module(package)
    brought = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(inspect.getsource(loaded)))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] == package.split(".", maxsplit=1)[0]
        for alias in node.names
    }
    assert brought == set(loaded.__all__)
