"""lovia: an agent runtime whose context compaction is correct, cheap and observable.

The names below are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lovia.cancellation import CancelToken
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
    from lovia.hooks import AgentHooks
    from lovia.providers.base import ModelSettings, Provider
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent
    from lovia.runtime.handle import RunHandle
    from lovia.runtime.handoff import Handoff
    from lovia.runtime.result import RunResult
    from lovia.runtime.run_context import RunContext
    from lovia.runtime.runner import Runner
    from lovia.tools import Tool, tool
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
    from lovia.usage import RunBudget, Usage

__all__ = [
    "Agent",
    "AgentHooks",
    "AssistantTextEntry",
    "BudgetExceeded",
    "CancelToken",
    "ContextOverflowError",
    "FilePart",
    "GuardrailTripped",
    "Handoff",
    "ImagePart",
    "InputEntry",
    "InvalidToolArguments",
    "InvalidViewError",
    "LoviaError",
    "MaxTurnsExceeded",
    "ModelSettings",
    "OutputValidationError",
    "Provider",
    "ProviderError",
    "ReasoningEntry",
    "RetryPolicy",
    "RunBudget",
    "RunCancelled",
    "RunContext",
    "RunHandle",
    "RunResult",
    "Runner",
    "TextPart",
    "Tool",
    "ToolCallEntry",
    "ToolError",
    "ToolResultEntry",
    "TranscriptEntry",
    "TranscriptFormatError",
    "Usage",
    "UserError",
    "tool",
]

# Where each public name comes from.
_HOMES = {
    "lovia.cancellation": ("CancelToken",),
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
    "lovia.providers.base": ("ModelSettings", "Provider"),
    "lovia.retry": ("RetryPolicy",),
    "lovia.runtime.agent": ("Agent",),
    "lovia.runtime.handle": ("RunHandle",),
    "lovia.runtime.handoff": ("Handoff",),
    "lovia.runtime.result": ("RunResult",),
    "lovia.runtime.run_context": ("RunContext",),
    "lovia.runtime.runner": ("Runner",),
    "lovia.tools": ("Tool", "tool"),
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
    "lovia.usage": ("RunBudget", "Usage"),
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
