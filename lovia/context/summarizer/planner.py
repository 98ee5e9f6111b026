"""Which entries the next request of a fold carries.

The span to fold is a list of *units*: entries that have to be covered together, such as a batch of
calls with its results. A plan is walked with a cursor. Taking a chunk moves nothing, so that a
chunk which proves too large is simply taken again with less room.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.rendering import with_text
from lovia.context.summarizer.splitting import split_to_fit
from lovia.transcript.entries import ToolCallEntry, TranscriptEntry, text_of
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Chunk", "Cursor", "Plan"]

#: Stands before the text of an entry whose beginning went into an earlier request.
_CONTINUED: Final = "[continued] "


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a plan is folded.

    Attributes:
        units: Units that are folded completely.
        rest: What is left of the unit after them when it is being folded in pieces, as the
            summarizer reads it; ``None`` when that unit has not been begun.
        continued: Whether the first entry of ``rest`` is the rest of an entry.
    """

    units: int = 0
    rest: tuple[TranscriptEntry, ...] | None = None
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one request carries.

    Attributes:
        entries: The entries, or pieces of them.
        tokens: Their size as the summarizer reads them.
        after: Where the cursor stands once the chunk is folded.
        degraded: Whether a unit that was too large alone is read in pieces.
    """

    entries: Sequence[TranscriptEntry]
    tokens: int
    after: Cursor
    degraded: bool = False


class Plan:
    """The units of a fold, and how much of them fits one request.

    Args:
        units: The units, oldest first.
        measure: Tokens of an entry as the summarizer reads it.
        clip: The entry as the summarizer reads it.
    """

    def __init__(
        self,
        units: Sequence[Sequence[TranscriptEntry]],
        *,
        measure: Callable[[TranscriptEntry], int],
        clip: Callable[[TranscriptEntry], TranscriptEntry],
    ) -> None:
        self.units = units
        self._measure = measure
        self._clip = clip
        sizes = (sum(map(measure, unit)) for unit in units)
        self._ends = list(accumulate(sizes, initial=0))

    def is_done(self, cursor: Cursor) -> bool:
        """Tell whether everything is folded."""
        return cursor.units >= len(self.units)

    def next_unit(self, cursor: Cursor) -> Sequence[TranscriptEntry]:
        """Return what is left of the unit at the cursor."""
        return self.units[cursor.units] if cursor.rest is None else cursor.rest

    def tokens_after(self, cursor: Cursor) -> int:
        """Return the tokens that are still to be folded."""
        if cursor.rest is None:
            return self._ends[-1] - self._ends[cursor.units]
        return sum(map(self._measure, cursor.rest)) + self._ends[-1] - self._ends[cursor.units + 1]

    def take(self, cursor: Cursor, room: int | None) -> Chunk:
        """Return the next chunk.

        Args:
            cursor: Where to go on; the plan is not done there.
            room: Tokens that the chunk may have, at least 1; ``None``: all that is left.

        Returns:
            As many whole units as fit. When not even the next one does, the largest piece of it
            that fits. A chunk is larger than the room only where a single character is.
        """
        if cursor.rest is None:
            whole = self._whole_units(cursor.units, room)
            if whole is not None:
                return whole
        return self._piece(cursor, room)

    def _whole_units(self, start: int, room: int | None) -> Chunk | None:
        stop = len(self.units)
        if room is not None:
            stop = bisect_right(self._ends, self._ends[start] + room) - 1
        if stop <= start:
            return None
        entries = [entry for unit in self.units[start:stop] for entry in unit]
        return Chunk(entries, self._ends[stop] - self._ends[start], Cursor(stop))

    def _piece(self, cursor: Cursor, room: int | None) -> Chunk:
        rest = cursor.rest or tuple(map(self._clip, self.units[cursor.units]))
        first = _continued(rest[0]) if cursor.continued else rest[0]
        taken: list[TranscriptEntry] = []
        tokens = 0
        for entry in (first, *rest[1:]):
            size = self._measure(entry)
            if room is not None and tokens + size > room:
                break
            taken.append(entry)
            tokens += size
        if taken or room is None:
            after = self._after(cursor.units, rest[len(taken) :])
            return Chunk(taken, tokens, after, degraded=True)
        return self._split(cursor, rest, room)

    def _split(self, cursor: Cursor, rest: tuple[TranscriptEntry, ...], room: int) -> Chunk:
        """Take the largest piece of the first entry that fits."""
        mark = _CONTINUED if cursor.continued else ""
        entry, text = rest[0], clean_text(_split_text(rest[0]))
        if not text:
            after = self._after(cursor.units, rest[1:])
            return Chunk([entry], self._measure(entry), after, degraded=True)
        head, tail = split_to_fit(
            text, room, lambda part: self._measure(with_text(entry, mark + part))
        )
        piece = with_text(entry, mark + head)
        remainder = (with_text(entry, tail), *rest[1:]) if tail else rest[1:]
        after = self._after(cursor.units, remainder, continued=bool(tail))
        return Chunk([piece], self._measure(piece), after, degraded=True)

    def _after(
        self, units: int, rest: tuple[TranscriptEntry, ...], *, continued: bool = False
    ) -> Cursor:
        return Cursor(units, rest, continued) if rest else Cursor(units + 1)


def _split_text(entry: TranscriptEntry) -> str:
    """Return the text of an entry that can be split: what :func:`with_text` replaces."""
    return entry.arguments if isinstance(entry, ToolCallEntry) else text_of(entry)


def _continued(entry: TranscriptEntry) -> TranscriptEntry:
    return with_text(entry, _CONTINUED + _split_text(entry))
