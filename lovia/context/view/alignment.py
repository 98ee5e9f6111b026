"""Which entries of a stage's output are the very objects that it was given.

Equal texts are often one object, so an object can stand in several places of the input. Stages
mostly leave both ends alone: the end is matched first, then the beginning, and the rest from its
end. What the output's own markers stand for is hidden, so nothing in the output is that.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia.context.view.decisions import Snipped, Summarised, mark_of
from lovia.context.view.ranges import Ranges
from lovia.errors import InvalidViewError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lovia.context.view.rendering import Rendered
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Place", "align"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry of the output stands in the input.

    Attributes:
        at: Its position, or ``None`` when it is no object of the input.
        before: Where the next entry that is one stands; whatever this entry is, it comes before.
    """

    at: int | None
    before: int


def align(output: Sequence[TranscriptEntry], given: Rendered) -> list[Place]:
    """Return for each entry of an output its place in the input.

    Raises:
        InvalidViewError: Entries are out of order, or there twice.
    """
    shown = _shown_objects(output, given)
    tail = _common(reversed(output), reversed(shown))
    head = _common(output[: len(output) - tail], shown[: len(shown) - tail])
    middle = _positions(shown, head, len(shown) - tail)
    places: list[Place] = []
    bound = len(shown)
    for position in range(len(output) - 1, -1, -1):
        if position >= len(output) - tail:
            at: int | None = position - len(output) + len(shown)
        elif position < head:
            at = position
        else:
            at = _last_before(bound, middle.get(id(output[position])), position)
        places.append(Place(at, bound))
        bound = bound if at is None else at
    return places[::-1]


def _shown_objects(output: Sequence[TranscriptEntry], given: Rendered) -> list[object]:
    """Return the input, without what the output's own markers say that they stand for."""
    hidden = Ranges()
    for entry in output:
        match mark_of(entry, given.owner):
            case Snipped(start=start, stop=stop):
                hidden |= Ranges.of([(start, stop)])
            case Summarised(covers=covers):
                hidden |= covers
    if not hidden:
        return list(given.entries)
    pairs = zip(given.entries, given.sources, strict=True)
    mask, stop = hidden.mask(), hidden.stop
    return [None if source < stop and mask[source] else entry for entry, source in pairs]


def _common(left: Iterable[object], right: Iterable[object]) -> int:
    """Return how many leading objects are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one is not other:
            break
        count += 1
    return count


def _positions(shown: Sequence[object], start: int, stop: int) -> dict[int, list[int]]:
    """Return the positions of each object of the input; those in the middle may be taken."""
    positions: dict[int, list[int]] = {id(entry): [] for entry in shown if entry is not None}
    for at in range(start, stop):
        if shown[at] is not None:
            positions[id(shown[at])].append(at)
    return positions


def _last_before(bound: int, candidates: list[int] | None, position: int) -> int | None:
    """Return the last of an object's positions before ``bound``; ``None`` for a new object."""
    if candidates is None:
        return None
    count = bisect_left(candidates, bound)
    if not count:
        message = f"Entry {position} of the stage's result is out of order, or there twice."
        hint = "A stage may remove, rewrite and add entries, but not reorder them."
        raise InvalidViewError(message, rule="order", index=position, hint=hint)
    return candidates[count - 1]
