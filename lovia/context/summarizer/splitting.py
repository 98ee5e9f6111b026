"""Where a text may be cut: between paragraphs, lines or words, and never inside a character.

What a reader takes for one character can be several code points. Without a Unicode segmentation
table the rules here cover what real text holds: surrogate pairs, combining marks, joined emoji,
skin tones, flags, Hangul syllables and CR LF.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clip_middle", "safe_cut", "split_to_fit"]

_ZERO_WIDTH_JOINER: Final = "\u200d"
#: Longest run of code points that is looked at as one character; longer ones are cut all the same.
_MAX_CLUSTER: Final = 64
#: A cut at a boundary may give up this share of what would fit.
_GIVE_UP: Final = 0.4
#: From the best place for a cut to the worst.
_BOUNDARIES: Final = (
    re.compile(r"\n[ \t]*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?;](?=\s)|[。！？；]"),  # noqa: RUF001 - Chinese and Japanese sentences
    re.compile(r"\s|[，、：]"),  # noqa: RUF001 - and their clauses
)
#: Characters per token that a first guess assumes; real text has about 4.
_GUESS: Final = 6
#: A second guess stays a little below what the first one's size suggests.
_SHRINK: Final = 0.95


def _joins(text: str, index: int) -> bool:
    """Tell whether the code points around ``index`` belong to one character."""
    before, after = text[index - 1], text[index]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if _is_regional(after) and _is_regional(before):
        return _regional_run(text, index) % 2 == 1
    return (
        _ZERO_WIDTH_JOINER in {before, after}
        or unicodedata.category(after) in {"Mn", "Mc", "Me"}
        or _is_pair(before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, as in the flag of Scotland
        or "\u1160" <= after <= "\u11ff"  # Hangul vowels and final consonants
    )


def _is_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regional_run(text: str, end: int) -> int:
    """Count the regional indicators right before ``end``: two of them make one flag."""
    start = end
    while start > max(end - _MAX_CLUSTER, 0) and _is_regional(text[start - 1]):
        start -= 1
    return end - start


def safe_cut(text: str, index: int) -> int:
    """Return the largest position up to ``index`` that is not inside a character.

    A run of code points that goes on for more than 64 is cut all the same, but never between the
    halves of a surrogate pair.
    """
    if index <= 0 or index >= len(text):
        return max(0, min(index, len(text)))
    lowest = max(index - _MAX_CLUSTER, 0)
    for cut in range(index, lowest, -1):
        if not _joins(text, cut):
            return cut
    if lowest == 0:
        return 0
    return index - 1 if _is_pair(text[index - 1], text[index]) else index


def _nice_cut(text: str, end: int) -> int:
    """Return the best boundary in the last part of ``text[:end]``."""
    lowest = end - int(end * _GIVE_UP)
    for boundary in _BOUNDARIES:
        cut = 0
        for match in boundary.finditer(text, lowest, end):
            cut = match.end()
        if cut and safe_cut(text, cut) == cut:
            return cut
    return safe_cut(text, end)


def split_to_fit(text: str, limit: int, measure: Callable[[str], int]) -> tuple[str, str]:
    """Cut a text in two, the first part as large as fits.

    Args:
        text: The text, not empty.
        limit: What the first part may measure.
        measure: The size of a text; should grow with its length.

    Returns:
        The first part and the rest. The first part holds at least one code point, even where that
        is more than ``limit``; the two together are the text.
    """
    smallest = 2 if len(text) > 1 and _is_pair(text[0], text[1]) else 1
    size = min(len(text), max(limit, 1) * _GUESS)
    while True:
        cut = size if size >= len(text) else max(_nice_cut(text, size), smallest)
        measured = measure(text[:cut])
        if measured <= limit or cut <= smallest:
            return text[:cut], text[cut:]
        size = max(smallest, min(cut - 1, int(cut * limit / measured * _SHRINK)))


def clip_middle(text: str, limit: int) -> str:
    """Shorten a text to at most ``limit`` characters by leaving out its middle.

    A mark in its place names the length of the whole text. Two thirds of what stays are from the
    beginning. A text that fits is returned as it is, so clipping twice changes nothing.
    """
    if len(text) <= limit:
        return text
    mark = f"\n[... the middle of {len(text):,} characters is left out ...]\n"
    kept = limit - len(mark)
    if kept <= 0:
        return text[: safe_cut(text, limit)]
    head = safe_cut(text, kept * 2 // 3)
    tail = len(text) - (kept - kept * 2 // 3)
    for _ in range(_MAX_CLUSTER):
        if tail >= len(text) or not _joins(text, tail):
            break
        tail += 1
    return text[:head] + mark + text[tail:]
