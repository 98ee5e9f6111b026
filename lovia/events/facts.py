"""What a pass came to, in words and values that results, events and telemetry share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "ArchiveRef",
    "CompactionReason",
    "PassOutcome",
    "StageOutcome",
    "StageRecord",
    "ViewKind",
]

CompactionReason: TypeAlias = Literal[
    "tool_result_budget",
    "middle_snip",
    "tool_result_retention",
    "auto_summary",
    "reactive_summary",
    "manual_summary",
]
PassOutcome: TypeAlias = Literal["compacted", "partial", "noop", "inflated", "failed", "cancelled"]
StageOutcome: TypeAlias = Literal["applied", "noop", "skipped", "refused", "failed", "cancelled"]
ViewKind: TypeAlias = Literal["original", "compacted", "replayed"]


@dataclass(frozen=True, slots=True)
class ArchiveRef:
    """Where an archive keeps something.

    Attributes:
        uri: What a person or a tool opens: a relative path or an address.
        kind: ``transcript`` or ``tool_result``.
        size: Bytes written.
        entries: Entries written (transcripts only).
    """

    uri: str
    kind: Literal["transcript", "tool_result"] = "transcript"
    size: int | None = None
    entries: int | None = None


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What one stage did in one pass.

    Attributes:
        name: The stage's name.
        outcome: Its outcome.
        before: Request tokens before it.
        after: Request tokens after it.
        note: One sentence for people, or ``None``.
        seconds: How long it took.
    """

    name: str
    outcome: StageOutcome
    before: int
    after: int
    note: str | None = None
    seconds: float = 0.0
