"""Sets of transcript indices, kept as sorted ranges: small however much they cover."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Ranges"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ranges:
    """An immutable set of indices as disjoint, ascending, half-open ranges.

    Attributes:
        spans: The ranges; touching ranges are merged.
    """

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, spans: Iterable[Iterable[int]]) -> Ranges:
        """Build a set from ranges in any order; empty ones are dropped, touching ones merged.

        Raises:
            ValueError: A range is negative or runs backwards.
        """
        merged: list[Span] = []
        for start, stop in sorted((int(a), int(b)) for a, b in spans):
            if start < 0 or stop < start:
                message = f"({start}, {stop}) is no range"
                raise ValueError(message)
            if start == stop:
                continue
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    @classmethod
    def from_indices(cls, indices: Iterable[int]) -> Ranges:
        """Build a set from single indices."""
        spans: list[Span] = []
        start = stop = -1
        for index in sorted(indices):
            if index > stop:
                spans.append((start, stop))
                start = index
            stop = index + 1
        return cls.of([*spans[1:], (start, stop)] if stop >= 0 else ())

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        position = bisect_right(self.spans, (index, float("inf"))) - 1
        return position >= 0 and self.spans[position][0] <= index < self.spans[position][1]

    def __iter__(self) -> Iterator[int]:
        for start, stop in self.spans:
            yield from range(start, stop)

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.spans)

    def __or__(self, other: Ranges) -> Ranges:
        if not other:
            return self
        return Ranges.of((*self.spans, *other.spans)) if self else other

    def __sub__(self, other: Ranges) -> Ranges:
        if not other or not self:
            return self
        kept: list[Span] = []
        for start, stop in self.spans:
            kept.extend(other.gaps(start, stop))
        return Ranges(tuple(kept))

    @property
    def start(self) -> int:
        """The smallest index; 0 for the empty set."""
        return self.spans[0][0] if self.spans else 0

    @property
    def stop(self) -> int:
        """One more than the largest index; 0 for the empty set."""
        return self.spans[-1][1] if self.spans else 0

    def gaps(self, start: int, stop: int) -> Iterator[Span]:
        """Yield the ranges between ``start`` and ``stop`` that are not in the set."""
        position = max(bisect_right(self.spans, (start, float("inf"))) - 1, 0)
        for first, last in self.spans[position:]:
            if first >= stop:
                break
            if start < first:
                yield (start, first)
            start = max(start, last)
        if start < stop:
            yield (start, stop)

    def mask(self) -> bytearray:
        """Return for each index up to the last of the set whether it is in it, and a final no.

        So the mask answers for index -1 as well, which stands for no index.
        """
        mask = bytearray(self.stop + 1)
        for start, stop in self.spans:
            mask[start:stop] = b"\1" * (stop - start)
        return mask

    def to_json(self) -> list[list[int]]:
        """Return the ranges as JSON-safe lists."""
        return [list(span) for span in self.spans]
