"""Counts the identifiers of a span of texts: how often each occurs, and how new it is."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.identifiers import Found, IdentifierKind, reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Identifier", "scan"]

#: Most distinct identifiers that one scan keeps apart.
MAX_DISTINCT: Final = 50_000
#: Most characters that one scan reads: ten times what the largest models take, a tenth of a second.
MAX_SCANNED: Final = 32_000_000
#: Most triggers that one scan looks at: about three seconds of work on the densest hostile text.
MAX_READS: Final = 2_000_000

#: Characters of short texts that are read as one, so that a text costs no search of its own.
_BATCH: Final = 64_000
#: Stands between texts that are read as one. Nothing that is looked for holds a line end; only what
#: tells a JSON key looks beyond one, and sees no more than three of them.
_BETWEEN: Final = "\n" * 4


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier of a span.

    Attributes:
        text: As it stands in the span.
        kind: What it looks like.
        uses: How often it occurs.
        position: Where it occurs last: from 0 (oldest text) to 1 (newest text).
    """

    text: str
    kind: IdentifierKind
    uses: int = 1
    position: float = 1.0


def scan(texts: Iterable[str], count: int) -> dict[str, Identifier]:
    """Return the identifiers of a span, by their text.

    Args:
        texts: The texts of the span, *newest first*: what does not fit the bounds of one scan is
            the oldest, and is not even asked for.
        count: How many texts there are.
    """
    uses: dict[Found, int] = {}
    positions: dict[Found, float] = {}
    for age, found in _bounded_reads(texts):
        if found in uses:
            uses[found] += 1
        elif len(uses) < MAX_DISTINCT:
            uses[found] = 1
            positions[found] = 1.0 - age / count
    return {
        found[0]: Identifier(*found, uses=count, position=positions[found])
        for found, count in uses.items()
    }


def _bounded_reads(texts: Iterable[str]) -> Iterator[tuple[int, Found]]:
    """Yield index of the text and identifier, until the bounds of one scan are reached."""
    left = MAX_READS
    for batch in _batches(texts):
        for at, found in reads(_BETWEEN.join(batch.texts)):
            if found is not None:
                yield batch.index_at(at), found
            left -= 1
            if not left:
                return


@dataclass(slots=True)
class _Batch:
    """Texts that are read as one.

    Attributes:
        first: How many texts came before.
        ascii: Whether all of them are ASCII, or none.
        texts: The texts.
        starts: Where each begins.
        size: Characters of all, with what stands between them and after the last.
    """

    first: int
    ascii: bool
    texts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        self.texts.append(text)
        self.starts.append(self.size)
        self.size += len(text) + len(_BETWEEN)

    def index_at(self, position: int) -> int:
        """Return the index, among all texts, of the one that a position lies in."""
        return self.first + bisect_right(self.starts, position) - 1


def _batches(texts: Iterable[str]) -> Iterator[_Batch]:
    """Yield texts in batches, those apart that are not ASCII, since these are read more slowly."""
    batch, left = _Batch(0, ascii=True), MAX_SCANNED
    for index, text in enumerate(texts):
        if batch.size >= _BATCH or text.isascii() is not batch.ascii:
            yield batch
            batch = _Batch(index, text.isascii())
        batch.add(text)
        left -= len(text)
        if left <= 0:
            break
    yield batch
