"""What the entries that a stage returned are: found by identity first, then by order.

A stage knows nothing of memory, so its output is read back into decisions here. An entry that the
stage was given is itself. An entry that our own stages made says what it stands for. A call or a
result that is neither is a rewrite of the next one with its id, any other entry that equals the
next one is a copy of it. Anything else is the stage's own.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from lovia.context.view.alignment import align
from lovia.context.view.decisions import (
    Decisions,
    Literal,
    Note,
    Replaced,
    Replacement,
    Snipped,
    Summarised,
    SummaryText,
    mark_of,
)
from lovia.context.view.ranges import Ranges
from lovia.errors import InvalidViewError
from lovia.transcript.entries import ToolCallEntry, ToolResultEntry, TranscriptEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.view.rendering import Rendered

__all__ = ["read_back"]


def read_back(
    output: Sequence[TranscriptEntry], given: Rendered, before: Decisions, *, length: int
) -> Decisions:
    """Return the decisions that turn the transcript into a stage's output.

    Args:
        output: What the stage returned.
        given: What it was given.
        before: The decisions behind ``given``.
        length: Entries of the transcript.

    Raises:
        InvalidViewError: The output reorders or repeats what the stage was given.
    """
    reader = _Reader(output, given)
    for position, entry in enumerate(output):
        reader.read(position, entry)
    return reader.decisions(before, length)


class _Reader:
    """Walks an output once and collects what its entries stand for."""

    def __init__(self, output: Sequence[TranscriptEntry], given: Rendered) -> None:
        self._given = given
        self._places = align(output, given)
        self._position_of = {source: at for at, source in enumerate(given.sources) if source >= 0}
        self._last = -1
        self._seen: set[int] = set()
        self._replaced: dict[int, Replacement] = {}
        self._snips: list[tuple[int, int]] = []
        self._summary: Summarised | None = None
        self._loose: list[
            tuple[int, TranscriptEntry]
        ] = []  # (position of the next known entry, entry)
        self._waiting: list[TranscriptEntry] = []

    def read(self, position: int, entry: TranscriptEntry) -> None:
        at = self._places[position].at
        if at is not None:
            self._keep(position, at)
            return
        match mark_of(entry, self._given.owner):
            case Replaced(index=index, how=how) if index in self._position_of:
                self._replaced[index] = how
                self._keep(position, self._position_of[index])
            case Snipped(start=start, stop=stop):
                self._snips.append((start, stop))
            case Summarised() as summary:
                self._summary = summary
            case _:
                self._read_foreign(position, entry)

    def decisions(self, before: Decisions, length: int) -> Decisions:
        given = self._given
        gone = [
            source
            for position, source in enumerate(given.sources)
            if source >= 0 and position not in self._seen
        ]
        covers, summary = self._coverage(before)
        snips = Ranges.of([*self._snips, *self._kept_snips(before)]) - covers
        if summary is None:  # what a removed summary stood for is not lost: a placeholder says so
            snips |= before.covers
        hidden = (before.hidden | Ranges.from_indices(gone)) - covers - snips
        replaced = {**before.replaced, **self._replaced}
        invisible = covers | snips | hidden
        return Decisions(
            covers=covers,
            summary=summary,
            snips=snips,
            dropped=hidden,
            replaced={i: how for i, how in replaced.items() if i not in invisible},
            notes=self._notes(before, length),
        )

    def _keep(self, position: int, at: int) -> None:
        if at <= self._last:
            message = f"Entry {position} of the stage's result is out of order, or there twice."
            hint = "A stage may remove, rewrite and add entries, but not reorder them."
            raise InvalidViewError(message, rule="order", index=position, hint=hint)
        self._last = at
        self._seen.add(at)
        self._loose.extend((at, entry) for entry in self._waiting)
        self._waiting = []

    def _read_foreign(self, position: int, entry: TranscriptEntry) -> None:
        by_id = isinstance(entry, (ToolCallEntry, ToolResultEntry))
        at = self._next(position, entry, _has_id_of if by_id else operator.eq)
        if at is not None:
            self._keep(position, at)
            source = self._given.sources[at]
            if source >= 0 and entry != self._given.entries[at]:
                self._replaced[source] = Literal(entry)
        elif by_id:
            message = f"Entry {position} of the stage's result is no call or result of its input."
            hint = "A stage may rewrite a call or a result, but not invent one."
            raise InvalidViewError(message, rule="orphan_result", index=position, hint=hint)
        else:
            self._waiting.append(entry)

    def _next(
        self, position: int, entry: TranscriptEntry, same: Callable[[Any, Any], bool]
    ) -> int | None:
        """Return where in the input the entry may come from: after the last, before the next."""
        between = range(self._last + 1, self._places[position].before)
        return next((at for at in between if same(self._given.entries[at], entry)), None)

    def _coverage(self, before: Decisions) -> tuple[Ranges, SummaryText | None]:
        if self._summary is not None:
            return self._summary.covers, self._summary.summary
        if any(
            isinstance(mark_of(self._given.entries[at], self._given.owner), Summarised)
            for at in self._seen
        ):
            return before.covers, before.summary
        return Ranges(), None

    def _kept_snips(self, before: Decisions) -> list[tuple[int, int]]:
        marks = (mark_of(self._given.entries[at], self._given.owner) for at in self._seen)
        spans = [(mark.start, mark.stop) for mark in marks if isinstance(mark, Snipped)]
        return [span for span in spans if span in before.snips.spans]

    def _notes(self, before: Decisions, length: int) -> tuple[Note, ...]:
        """Keep the notes that are still there and add the new ones, equal ones once."""
        anchored = [(at, self._given.entries[at]) for at in self._seen if self._is_note(at, before)]
        anchored += self._loose
        anchored += [(len(self._given.entries), entry) for entry in self._waiting]
        notes: list[Note] = []
        for at, entry in sorted(anchored, key=lambda item: item[0]):
            note = Note(self._anchor(at, length), entry)
            if note not in notes:
                notes.append(note)
        return tuple(notes)

    def _is_note(self, at: int, before: Decisions) -> bool:
        entry = self._given.entries[at]
        return self._given.sources[at] < 0 and any(note.entry is entry for note in before.notes)

    def _anchor(self, at: int, length: int) -> int:
        """Return the transcript index of the first shown entry at or after a position."""
        for position in range(at, len(self._given.sources)):
            if self._given.sources[position] >= 0 and position in self._seen:
                return self._given.sources[position]
        return length


def _has_id_of(given: TranscriptEntry, entry: ToolCallEntry | ToolResultEntry) -> bool:
    return isinstance(given, type(entry)) and given.call_id == entry.call_id
