"""The sticky view: the last view of one conversation, brought up to date as the transcript grows.

A turn without a pass costs the new entries plus one comparison of the list with what was seen
before; nothing of the history is copied, hashed or counted again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia.context.view.decisions import Decisions
from lovia.context.view.ranges import Ranges
from lovia.context.view.rendering import Rendered, render
from lovia.transcript.pairing import Pairing
from lovia.transcript.text import clean_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["SessionView", "Sync"]


@dataclass(frozen=True, slots=True)
class Sync:
    """What changed since the view was last brought up to date.

    Attributes:
        new_from: Index of the first entry that is new.
        rewritten: Whether decisions were set aside because the history under them changed.
    """

    new_from: int
    rewritten: bool = False


class SessionView:
    """One conversation as its policy remembers it: what was said, decided, and is sent.

    Attributes:
        decisions: What was decided so far.
        archived: Entries that an archive already keeps.
        pairing: The transcript's structure.
    """

    def __init__(self) -> None:
        self.decisions: Decisions = Decisions()
        self.archived: Ranges = Ranges()
        self._counter: TokenCounter | None = None
        self._source = ""
        self._forget_transcript()

    def _forget_transcript(self) -> None:
        self.pairing: Pairing = Pairing()
        self._seen: list[TranscriptEntry] = []
        self._dirty: dict[int, TranscriptEntry] = {}
        self._pending: frozenset[str] = frozenset()
        self._waiting: set[int] = set()
        self._rendered: Rendered | None = None  # None: the view is the transcript itself
        self._history_tokens = 0
        self._view_tokens = 0

    @property
    def transcript(self) -> Sequence[TranscriptEntry]:
        """The transcript as far as it was seen; not to be edited."""
        return self._seen

    @property
    def is_original(self) -> bool:
        """Whether the view is the transcript itself."""
        return self._rendered is None

    @property
    def view_length(self) -> int:
        """Entries of the view."""
        return len(self._seen) if self._rendered is None else len(self._rendered.entries)

    @property
    def history_tokens(self) -> int:
        """Counted tokens of the whole transcript."""
        return self._history_tokens

    @property
    def view_tokens(self) -> int:
        """Counted tokens of the view."""
        return self._history_tokens if self._rendered is None else self._view_tokens

    @property
    def pending(self) -> frozenset[str]:
        """Ids of calls that are still waiting for an answer."""
        return self._pending

    def rendered(self) -> Rendered:
        """Return the view with the sources of its entries; the lists are not to be edited."""
        if self._rendered is None:
            return Rendered(self._seen, list(range(len(self._seen))), self)
        return self._rendered

    def preview(self, decisions: Decisions) -> Rendered:
        """Return the view that other decisions would give."""
        return render(
            self._seen,
            self.pairing,
            decisions,
            dirty=self._dirty,
            pending=self._pending,
            owner=self,
        )

    def sync(
        self, entries: list[TranscriptEntry], counter: TokenCounter, pending: Iterable[str] = ()
    ) -> Sync:
        """Bring the view up to date with the transcript.

        Args:
            entries: The whole transcript.
            counter: Counts tokens; entries keep their counts.
            pending: Ids of calls that are still waiting.
        """
        known = len(self._seen)
        new = entries[known:]
        self._seen.extend(new)
        waiting = frozenset(pending)
        if len(entries) < known or self._seen != entries:
            return self._start_over(entries, counter, waiting)
        if known and self._seen[known - 1] is not entries[known - 1]:
            self._seen[:] = (
                entries  # equal values in new objects: hold those, so that comparing stays cheap
            )
        if counter is not self._counter or counter.source != self._source:
            self._recount(counter)
        elif new:
            self._history_tokens += counter.entries(new)
        self._append(known, new, waiting)
        return Sync(known)

    def adopt(self, decisions: Decisions, rendered: Rendered | None = None) -> None:
        """Make new decisions the memory, and their view the view."""
        self.decisions = decisions
        self._render(rendered)

    def _append(self, known: int, new: Sequence[TranscriptEntry], pending: frozenset[str]) -> None:
        upsets, waiting = self.pairing.upsets, self._waiting
        self.pairing.extend(new)
        self._pending, self._waiting = pending, self.pairing.waiting(pending)
        self._note_dirty(known, new)
        mended = self._mend(known)
        structural = self.pairing.upsets != upsets or self._waiting != waiting
        if mended or structural or (self._rendered is None and (self._dirty or self.decisions)):
            self._render()
        elif self._rendered is not None and new:
            shown = [self._dirty.get(known + k, entry) for k, entry in enumerate(new)]
            self._rendered.entries.extend(shown)
            self._rendered.sources.extend(range(known, known + len(new)))
            self._view_tokens += self._counted(shown)

    def _note_dirty(self, known: int, new: Sequence[TranscriptEntry]) -> None:
        for index, entry in enumerate(new, known):
            if (cleaned := clean_entry(entry)) is not entry:
                self._dirty[index] = cleaned

    def _mend(self, known: int) -> bool:
        """Undo what decisions do to steps that new entries belong to.

        A step that was hidden is shown again with what came after all, such as a late answer; a
        note that would now stand inside one stands before it.
        """
        before, pairing = self.decisions, self.pairing
        if not before:
            return False
        numbers = {pairing.unit_of[index] for index in range(known, len(self._seen))}
        units = [pairing.units[number] for number in numbers]
        for unit in units:
            if unit.start < known and any(index in before.hidden for index in unit.indices()):
                self.decisions = self.decisions.reveal(unit.indices())
        if self.decisions.notes and not pairing.is_legal_cut(known):
            self.decisions = self.decisions.move_notes(pairing.cut_at_or_before)
        return self.decisions is not before

    def _start_over(
        self, entries: list[TranscriptEntry], counter: TokenCounter, waiting: frozenset[str]
    ) -> Sync:
        """Take in a transcript whose known part changed; keep decisions about the rest."""
        same = _common_prefix(self._seen, entries)
        keep = self.decisions.upto <= same
        rewritten = bool(self.decisions) and not keep
        if not keep:
            self.decisions, self.archived = Decisions(), Ranges()
        self._forget_transcript()
        self._seen = list(entries)
        self._recount(counter)
        self._append(0, self._seen, waiting)
        return Sync(same if keep else 0, rewritten)

    def _recount(self, counter: TokenCounter) -> None:
        self._counter, self._source = counter, counter.source
        self._history_tokens = counter.entries(self._seen)
        if self._rendered is not None:
            self._view_tokens = counter.entries(self._rendered.entries)

    def _render(self, rendered: Rendered | None = None) -> None:
        odd = self.pairing.orphans or self.pairing.dead_calls(self._pending)
        if not self.decisions and not self._dirty and not odd:
            self._rendered = None
            return
        self._rendered = rendered or self.preview(self.decisions)
        self._view_tokens = self._counted(self._rendered.entries)

    def _counted(self, entries: Iterable[TranscriptEntry]) -> int:
        return self._counter.entries(entries) if self._counter is not None else 0


def _common_prefix(a: Sequence[TranscriptEntry], b: Sequence[TranscriptEntry]) -> int:
    """Return how many leading entries are equal."""
    for index, (left, right) in enumerate(zip(a, b, strict=False)):
        if left is not right and left != right:
            return index
    return min(len(a), len(b))
