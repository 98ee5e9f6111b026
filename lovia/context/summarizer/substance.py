"""What a summary says, beside its headings and beside what the model was told to do.

Some models begin with their instructions, or copy what stands in brackets under each heading. In a
view that would be orders to the model that reads it, and each later summary would inherit them. And
a form without anything filled in is no summary, however many of its headings are there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.prompts import SECTIONS, told_sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["says_nothing", "without_instructions"]

#: A shorter sentence may be a user's as well: alone it does not show that a line is an echo.
_TELLING: Final = 40
_TOLD: Final = told_sentences()
_LONG: Final = re.compile("|".join(told for told in _TOLD if len(told) >= _TELLING))
_ANY: Final = re.compile(rf"\s*(?:{'|'.join(_TOLD)})")
_HINTS: Final = frozenset(content.casefold() for _, content in SECTIONS)
_HEADINGS: Final = frozenset(heading.casefold() for heading, _ in SECTIONS)
_MARKS: Final = "#*_`~>|-+=\u2022\u2013\u2014\u2026()[]<>.:;,!'\" \t"
_NOTHING: Final = frozenset({"", "none", "n/a", "nothing", "null", "empty", "unknown", "无"})


def without_instructions(text: str) -> str:
    """Return the text without the lines in which it repeats what the summarizer was told."""
    lines = text.splitlines()
    kept = [own for line in lines if (own := _own_words(line)) is not None]
    return text if kept == lines else "\n".join(kept)


def _own_words(line: str) -> str | None:
    """Return a line without what was told, or ``None`` when nothing else is in it."""
    if line.strip(_MARKS).casefold() in _HINTS:
        return None
    if not _LONG.search(line):
        return line
    own = _ANY.sub("", line)
    return own if own.strip(_MARKS) else None


def says_nothing(text: str, headings: Iterable[str] = ()) -> bool:
    """Tell whether a text is blank, or has headings, marks and words for nothing alone.

    Args:
        text: The text.
        headings: Headings that it may have, beside those that are asked for by default.
    """
    known = _HEADINGS.union(heading.casefold() for heading in headings)
    return all(_is_idle(line, known) for line in text.splitlines())


def _is_idle(line: str, headings: Collection[str]) -> bool:
    heading, colon, rest = line.partition(":")
    if colon and heading.strip(_MARKS).casefold() in headings:
        line = rest
    word = line.strip(_MARKS).casefold()
    return word in _NOTHING or word in headings
