"""From decisions to the view: the same transcript and decisions give the same bytes every time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lovia.context import markers
from lovia.context.summary_entry import make_summary_entry
from lovia.context.view.decisions import (
    Cleared,
    Clipped,
    Decisions,
    Literal,
    Persisted,
    Replaced,
    Replacement,
    Snipped,
    Summarised,
    with_mark,
)
from lovia.context.view.ranges import Ranges
from lovia.transcript.entries import (
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)
from lovia.transcript.pairing import NO_RESULT
from lovia.transcript.text import clean_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lovia.transcript.pairing import Pairing

__all__ = ["Rendered", "render", "replacement_entry"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A view, and where each of its entries comes from.

    Attributes:
        entries: The view.
        sources: For each entry the index of the transcript entry it shows, or -1 for what
            compaction put in.
        owner: Whose view it is; marks on its entries carry the same owner.
    """

    entries: list[TranscriptEntry] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    owner: object = None

    def show(self, entry: TranscriptEntry, source: int = -1) -> None:
        """Append one entry."""
        self.entries.append(entry)
        self.sources.append(source)


def render(
    transcript: Sequence[TranscriptEntry],
    pairing: Pairing,
    decisions: Decisions,
    *,
    dirty: Mapping[int, TranscriptEntry],
    pending: Collection[str] = (),
    owner: object = None,
) -> Rendered:
    """Return the view that the decisions give.

    A result that no call asked for is never shown: no provider takes it. A call that was never
    answered and no longer can be gets a placeholder result.

    Args:
        transcript: The whole transcript.
        pairing: Its structure.
        decisions: What was decided about it.
        dirty: Cleaned copies of entries whose text does not encode, by index.
        pending: Ids of calls that are still waiting and so need no placeholder result.
        owner: Whose view it is.
    """
    view = Rendered(owner=owner)
    special = _special_entries(transcript, pairing, decisions, dirty, pending, owner)
    stops = sorted(special)
    inserts = _Inserts(decisions, owner)
    position = 0  # in stops
    hidden = decisions.hidden | Ranges.from_indices(pairing.orphans)
    for start, stop in hidden.gaps(0, len(transcript)):
        cursor = start
        while cursor < stop:
            inserts.put_up_to(cursor, view)
            while position < len(stops) and stops[position] < cursor:
                position += 1
            limit = min(stop, inserts.next_position(stop))
            special_next = stops[position] if position < len(stops) else stop
            plain = min(limit, special_next)
            view.entries.extend(transcript[cursor:plain])
            view.sources.extend(range(cursor, plain))
            cursor = plain
            if cursor < limit and cursor == special_next:
                for entry, source in special[cursor]:
                    view.show(entry, source)
                cursor += 1
    inserts.put_up_to(len(transcript), view)
    return view


def replacement_entry(original: TranscriptEntry, how: Replacement, number: int) -> TranscriptEntry:
    """Return what a view shows in the place of ``original``, entry ``number`` of the transcript."""
    if isinstance(how, Literal):
        return how.entry
    original = clean_entry(original)
    if isinstance(original, ToolCallEntry):
        preview = how.preview if isinstance(how, Clipped) else 0
        return replace(original, arguments=markers.clipped_arguments(original.arguments, preview))
    if not isinstance(original, ToolResultEntry):
        message = f"{type(original).__name__} cannot be replaced by {type(how).__name__}"
        raise TypeError(message)
    return replace(original, output=_marker(original, how, number), parts=(), origin="placeholder")


def _marker(result: ToolResultEntry, how: Cleared | Persisted | Clipped, number: int) -> str:
    match how:
        case Cleared():
            return markers.cleared_result(result, number=number)
        case Persisted(uri=uri, preview=preview):
            return markers.persisted_result(text_of(result), uri, preview)
        case Clipped(preview=preview):
            return markers.preview_only(text_of(result), preview)


def _special_entries(
    transcript: Sequence[TranscriptEntry],
    pairing: Pairing,
    decisions: Decisions,
    dirty: Mapping[int, TranscriptEntry],
    pending: Collection[str],
    owner: object,
) -> dict[int, list[tuple[TranscriptEntry, int]]]:
    """Map each index that is not simply shown to what is shown there."""
    special: dict[int, list[tuple[TranscriptEntry, int]]] = {}
    for index, entry in dirty.items():
        special[index] = [(entry, index)]
    for index, how in decisions.replaced.items():
        shows = replacement_entry(transcript[index], how, index)
        entry = shows if isinstance(how, Literal) else with_mark(shows, Replaced(index, how), owner)
        special[index] = [(entry, index)]
    for call in sorted(pairing.dead_calls(pending)):
        unit = pairing.units[pairing.unit_of[call]]
        shown = special.setdefault(unit.stop - 1, [(transcript[unit.stop - 1], unit.stop - 1)])
        call_id = clean_entry(transcript[call]).call_id  # type: ignore[union-attr] # a call, by its index
        shown.append((ToolResultEntry(call_id, NO_RESULT, origin="placeholder"), -1))
    return special


class _Inserts:
    """What stands between transcript entries: the summary, snip placeholders, third-party notes."""

    def __init__(self, decisions: Decisions, owner: object) -> None:
        self._waiting = sorted(_insertions(decisions, owner), key=lambda item: item[:2])
        self._next = 0

    def next_position(self, default: int) -> int:
        if self._next < len(self._waiting):
            return self._waiting[self._next][0]
        return default

    def put_up_to(self, position: int, view: Rendered) -> None:
        while self._next < len(self._waiting) and self._waiting[self._next][0] <= position:
            view.show(self._waiting[self._next][2])
            self._next += 1


def _insertions(decisions: Decisions, owner: object) -> Iterator[tuple[int, int, TranscriptEntry]]:
    """Yield position, rank among what stands at the same position, and the entry."""
    for rank, note in enumerate(decisions.notes):
        yield note.anchor, 2 + rank, note.entry
    if decisions.summary is not None and decisions.covers:
        entry = make_summary_entry(decisions.summary.text, reactive=decisions.summary.reactive)
        mark = Summarised(decisions.covers, decisions.summary)
        yield decisions.covers.start, 0, with_mark(entry, mark, owner)
    for start, stop in decisions.snips.spans:
        entry = InputEntry("user", markers.snipped(start, stop), origin="placeholder")
        yield start, 1, with_mark(entry, Snipped(start, stop), owner)
