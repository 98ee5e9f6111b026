"""What a provider streams while the model speaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from lovia.transcript.entries import TranscriptEntry
    from lovia.usage import Usage

__all__ = [
    "EntryCompletedDelta",
    "FinishDelta",
    "ModelDelta",
    "ReasoningDelta",
    "TextDelta",
    "ToolCallDelta",
    "UsageDelta",
]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str
    type: Literal["text_delta"] = field(default="text_delta", repr=False)


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str
    type: Literal["reasoning_delta"] = field(default="reasoning_delta", repr=False)


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call; ``index`` says of which of the parallel calls.

    Attributes:
        index: Position among the turn's calls.
        call_id: The call's id, usually on its first piece only.
        name: The tool's name, usually on the first piece only.
        arguments: The next characters of the JSON text.
    """

    index: int
    call_id: str | None = None
    name: str | None = None
    arguments: str = ""
    type: Literal["tool_call_delta"] = field(default="tool_call_delta", repr=False)


@dataclass(frozen=True, slots=True)
class EntryCompletedDelta:
    """A whole entry in the provider's own words; it replaces what was assembled from pieces."""

    entry: TranscriptEntry
    type: Literal["entry_completed_delta"] = field(default="entry_completed_delta", repr=False)


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What the call spent so far; a later report replaces an earlier one."""

    usage: Usage
    type: Literal["usage_delta"] = field(default="usage_delta", repr=False)


@dataclass(frozen=True, slots=True)
class FinishDelta:
    """The end of the call, with the provider's reason (``stop``, ``length``, ...)."""

    reason: str | None = None
    type: Literal["finish_delta"] = field(default="finish_delta", repr=False)


ModelDelta: TypeAlias = (
    TextDelta | ReasoningDelta | ToolCallDelta | EntryCompletedDelta | UsageDelta | FinishDelta
)
