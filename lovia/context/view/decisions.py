"""What compaction decided, as references into the transcript.

Decisions are the memory of a policy: which ranges a summary covers, which were snipped or dropped,
which entries show a marker instead of their text, and what third-party stages added. Together with
the transcript they give the view, byte for byte, every time. Nothing here holds text that the
transcript has; only summaries and third-party literals are kept as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from lovia.context.view.ranges import Ranges
from lovia.transcript.entries import TranscriptEntry, memo, remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "Cleared",
    "Clipped",
    "Decisions",
    "Literal",
    "Mark",
    "Note",
    "Persisted",
    "Replaced",
    "Replacement",
    "Snipped",
    "Summarised",
    "SummaryText",
    "mark_of",
    "with_mark",
]


@dataclass(frozen=True, slots=True)
class Cleared:
    """A tool result shows the short marker of an old result."""


@dataclass(frozen=True, slots=True)
class Persisted:
    """A tool result shows where its whole text is archived, and a preview.

    Attributes:
        uri: Where the archive keeps it.
        preview: Characters of the preview.
    """

    uri: str
    preview: int


@dataclass(frozen=True, slots=True)
class Clipped:
    """A tool result, or a call's arguments, show a preview only.

    Attributes:
        preview: Characters of the preview.
    """

    preview: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A third-party stage rewrote the entry.

    Attributes:
        entry: What it wrote.
    """

    entry: TranscriptEntry


Replacement: TypeAlias = Cleared | Persisted | Clipped | Literal


@dataclass(frozen=True, slots=True)
class Note:
    """An entry that a third-party stage added.

    Attributes:
        anchor: Index of the transcript entry that it stands before.
        entry: What it added.
    """

    anchor: int
    entry: TranscriptEntry


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A running summary.

    Attributes:
        text: The summary as the summarizer gave it.
        reactive: Whether it was made after a refusal.
    """

    text: str
    reactive: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """Mark of a view entry that stands for one transcript entry."""

    index: int
    how: Replacement


@dataclass(frozen=True, slots=True)
class Snipped:
    """Mark of the placeholder that stands for a snipped range."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Summarised:
    """Mark of the summary entry: text and coverage are one value, neither outlives the other."""

    covers: Ranges
    summary: SummaryText


Mark: TypeAlias = Replaced | Snipped | Summarised
_MARK = "mark"


def with_mark(entry: TranscriptEntry, mark: Mark, owner: object) -> TranscriptEntry:
    """Remember on an entry that compaction just made what it stands for; returns the entry.

    Args:
        entry: The new entry.
        mark: What it stands for.
        owner: Whose indices the mark speaks of; they mean nothing to another transcript.
    """
    memo(entry)[_MARK] = (owner, mark)
    return entry


def mark_of(entry: TranscriptEntry, owner: object) -> Mark | None:
    """Return what a view entry stands for, when compaction made it for this owner."""
    found = remembered(entry, _MARK)
    return found[1] if found is not None and found[0] is owner else None


@dataclass(frozen=True)
class Decisions:
    """Everything that was decided so far about one transcript.

    Attributes:
        covers: What the summary stands for.
        summary: The summary, or ``None``; never without coverage.
        snips: What snip placeholders stand for.
        dropped: What a third-party stage removed without a marker. Never what a summary covered:
            placeholders stand for that when the summary is removed.
        replaced: Entries that show something else.
        notes: Entries that third-party stages added, in view order.
    """

    covers: Ranges = field(default_factory=Ranges)
    summary: SummaryText | None = None
    snips: Ranges = field(default_factory=Ranges)
    dropped: Ranges = field(default_factory=Ranges)
    replaced: Mapping[int, Replacement] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hidden or self.replaced or self.notes)

    @cached_property
    def hidden(self) -> Ranges:
        """Everything that the view does not show itself."""
        return self.covers | self.snips | self.dropped

    @cached_property
    def upto(self) -> int:
        """How many leading transcript entries the decisions refer to."""
        anchors = (note.anchor for note in self.notes)
        return max(self.hidden.stop, max(self.replaced, default=-1) + 1, max(anchors, default=0))

    def cover(self, indices: Ranges, summary: SummaryText) -> Decisions:
        """Let a new summary stand for ``indices`` in addition to what was covered before."""
        covers = self.covers | indices
        return Decisions(
            covers=covers,
            summary=summary,
            snips=self.snips - covers,
            dropped=self.dropped - covers,
            replaced={i: how for i, how in self.replaced.items() if i not in covers},
            notes=tuple(note for note in self.notes if note.anchor not in covers),
        )

    def snip(self, indices: Ranges) -> Decisions:
        """Let placeholders stand for ``indices``."""
        return replace(
            self,
            snips=self.snips | (indices - self.covers),
            dropped=self.dropped - indices,
            replaced={i: how for i, how in self.replaced.items() if i not in indices},
            notes=tuple(note for note in self.notes if note.anchor not in indices),
        )

    def substitute(self, changes: Mapping[int, Replacement]) -> Decisions:
        """Let entries show something else."""
        return replace(self, replaced={**self.replaced, **changes})

    def move_notes(self, place: Callable[[int], int]) -> Decisions:
        """Let notes stand before the entries that ``place`` returns for their anchors."""
        notes = (Note(place(note.anchor), note.entry) for note in self.notes)
        return replace(self, notes=tuple(dict.fromkeys(notes)))

    def reveal(self, indices: Iterable[int]) -> Decisions:
        """Show entries again that were hidden; the summary stays while it covers anything else."""
        shown = Ranges.from_indices(indices)
        covers = self.covers - shown
        return replace(
            self,
            covers=covers,
            summary=self.summary if covers else None,
            snips=self.snips - shown,
            dropped=self.dropped - shown,
        )
