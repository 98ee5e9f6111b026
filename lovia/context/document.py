"""A long text in pieces, read by pages or by what is found in it, and never put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.splitting import safe_cut
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Document", "Excerpt", "Piece"]

_BEFORE: Final = 100  # characters that are shown before a place that was found
_AFTER: Final = 200  # and after its beginning


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document.

    Attributes:
        body: Its text.
        label: What stands in a line above it; a piece without one is the body alone.
    """

    body: str
    label: str = ""

    @property
    def heading(self) -> str:
        """The line above the body."""
        return f"--- {self.label} ---\n" if self.label else ""

    @property
    def text(self) -> str:
        """Heading and body, with a line end before whatever comes next."""
        return f"{self.heading}{self.body}\n" if self.label else self.body

    @property
    def size(self) -> int:
        """Characters of :attr:`text`."""
        return len(self.body) + (len(self.heading) + 1 if self.label else 0)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a document.

    Attributes:
        text: The text; encodes as UTF-8.
        end: Offset in the document after what was looked at; its size when that was all.
    """

    text: str
    end: int


@dataclass(frozen=True)
class Document:
    """A title and pieces.

    Attributes:
        title: What it is, for people.
        pieces: Its parts in order.
        size: Characters of all of them.
    """

    title: str
    pieces: Sequence[Piece]
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", sum(piece.size for piece in self.pieces))

    def page(self, offset: int, limit: int) -> Excerpt:
        """Return ``limit`` characters from ``offset`` on, fewer where a cut would split one.

        Args:
            offset: Characters to leave out.
            limit: Characters to show; at least one is, so that reading always gets on.
        """
        collected: list[str] = []
        missing = limit + 1  # one more, to see what a cut would part
        for start, piece in self._from(offset):
            skipped = max(offset - start, 0)
            collected.append(piece.text[skipped : skipped + missing])
            missing -= len(collected[-1])
            if not missing:
                break
        text = "".join(collected)
        cut = safe_cut(text, limit) or min(limit, len(text))
        return Excerpt(clean_text(text[:cut]), min(offset + cut, self.size))

    def search(self, wanted: str, *, offset: int, limit: int) -> Excerpt:
        """Return the places from ``offset`` on where a text occurs, in whatever letter case.

        Each place takes a line: its offset, the piece it is in, and what stands around it. The
        text is sought as it is, so no pattern can take long.

        Args:
            wanted: What is sought.
            offset: Characters to leave out.
            limit: Characters to show; the first place is shown even if it takes more.
        """
        lines: list[str] = []
        used = 0
        for start, piece in self._from(offset):
            body = start + len(piece.heading)
            for hit, around in _hits(piece.body, wanted, offset - body):
                place = body + hit
                where = f"offset {place}, {piece.label}" if piece.label else f"offset {place}"
                line = f"{where}: {around}"
                if lines and used + len(line) + 1 > limit:
                    return Excerpt(clean_text("\n".join(lines)), place)
                lines.append(line[:limit])
                used += len(line) + 1
        return Excerpt(clean_text("\n".join(lines)), self.size)

    def _from(self, offset: int) -> Iterator[tuple[int, Piece]]:
        """Yield the pieces that reach beyond ``offset``, each with where it begins."""
        start = 0
        for piece in self.pieces:
            if start + piece.size > offset:
                yield start, piece
            start += piece.size


def _hits(text: str, wanted: str, first: int) -> Iterator[tuple[int, str]]:
    """Yield each place where ``wanted`` occurs and what is around it, each surrounding once."""
    folded, sought = text.casefold(), wanted.casefold()
    if len(folded) != len(text):  # a letter that folds to two would shift all places behind it
        folded, sought = text, wanted
    hit = folded.find(sought, max(first, 0))
    while hit >= 0:
        begin = max(text.rfind("\n", 0, hit) + 1, hit - _BEFORE)
        line_end = text.find("\n", hit + len(sought))
        end = min(hit + len(sought) + _AFTER, line_end if line_end >= 0 else len(text))
        begin, end = safe_cut(text, begin), safe_cut(text, end)
        yield hit, text[begin:end].replace("\n", " ")
        hit = folded.find(sought, max(end, hit + 1))
