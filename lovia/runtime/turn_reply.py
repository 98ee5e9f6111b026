"""The model's answer of a turn, from when it is complete until the turn is finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lovia.transcript.entries import AssistantTextEntry, InputEntry, ToolCallEntry, ToolResultEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["TurnReply"]


@dataclass(frozen=True)
class TurnReply:
    """An answer of the model, and where it stands. Positions count the run's own entries from 0.

    Attributes:
        start: The position of its first entry.
        entries: What it added to the transcript.
    """

    start: int
    entries: tuple[TranscriptEntry, ...]

    @classmethod
    def found(cls, own: Sequence[TranscriptEntry], start: int) -> Self:
        """Return the answer that begins at a position of a run's own entries."""
        stop = start
        while stop < len(own) and not isinstance(own[stop], (InputEntry, ToolResultEntry)):
            stop += 1
        return cls(start, tuple(own[start:stop]))

    @property
    def stop(self) -> int:
        """The position after its last entry, where its results begin."""
        return self.start + len(self.entries)

    @property
    def text(self) -> str:
        """All text of the answer."""
        return "".join(e.content for e in self.entries if isinstance(e, AssistantTextEntry))

    @property
    def calls(self) -> list[tuple[int, ToolCallEntry]]:
        """The calls that the model asked for, in order, each with its position."""
        return [
            (position, entry)
            for position, entry in enumerate(self.entries, self.start)
            if isinstance(entry, ToolCallEntry)
        ]
