"""What was said: entries and their parts, their saved form, recordings, and validity."""

from __future__ import annotations

from lovia.transcript.codec import entries_from_json, entries_to_json
from lovia.transcript.deltas import (
    EntryCompletedDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    Origin,
    ReasoningEntry,
    Role,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.formats import format_names, load_transcript
from lovia.transcript.messages import entries_to_messages, messages_to_entries
from lovia.transcript.validation import validate_view

__all__ = [
    "AssistantTextEntry",
    "ContentPart",
    "EntryCompletedDelta",
    "FilePart",
    "FinishDelta",
    "ImagePart",
    "InputEntry",
    "ModelDelta",
    "Origin",
    "ReasoningDelta",
    "ReasoningEntry",
    "Role",
    "TextDelta",
    "TextPart",
    "ToolCallDelta",
    "ToolCallEntry",
    "ToolResultEntry",
    "TranscriptEntry",
    "UsageDelta",
    "entries_from_json",
    "entries_to_json",
    "entries_to_messages",
    "format_names",
    "load_transcript",
    "messages_to_entries",
    "validate_view",
]
