"""Facts: what a scope knows, in values that every exporter can encode.

Text from models, tools and files is hostile: it may hold lone surrogates, which do not encode as
UTF-8, or be megabytes long. A count may not fit 64 bits. One such value makes an exporter lose its
whole batch, so everything passes through :func:`clean` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Fact = str | bool | int | float | Sequence[str]
Facts = dict[str, Fact]

MAX_TEXT: Final = 1_024  # characters of one attribute; content has its own bound
MAX_ITEMS: Final = 128  # items of one sequence
_INT64: Final = 2**63 - 1


def clean(facts: Mapping[str, object]) -> Facts:
    """Return the facts that are known, each as an encodable and bounded attribute value.

    ``None`` means unknown and is left out; so is an empty sequence.
    """
    known: Facts = {}
    for key, value in facts.items():
        # Most values are fine as they are, and this runs for every one of them.
        if (type(value) is str and len(value) <= MAX_TEXT and value.isascii()) or (
            type(value) is int and -_INT64 <= value <= _INT64
        ):
            known[key] = value
        elif value is not None and (fact := _fact(value)) is not None:
            known[key] = fact
    return known


def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return ``text`` encodable as UTF-8 and at most ``limit`` characters long.

    A lone surrogate becomes a question mark; a cut is marked by an ellipsis.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def _fact(value: object) -> Fact | None:
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return max(-_INT64, min(_INT64, int(value)))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple(clean_text(str(item)) for item in value[:MAX_ITEMS]) or None
    return clean_text(str(value))
