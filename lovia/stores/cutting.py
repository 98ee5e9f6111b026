"""Cutting a conversation at an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.errors import UserError
from lovia.stores.session import Segment
from lovia.transcript.pairing import legal_cuts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lovia.stores.session import PolicyMemory

__all__ = ["fitting", "head_of"]


def head_of(segments: Iterable[Segment], keep_entries: int) -> list[Segment]:
    """Return the segments that hold the first entries of a conversation, cut where a turn ends.

    Args:
        segments: The conversation.
        keep_entries: How many entries to keep at most.

    Raises:
        UserError: The number is negative.
    """
    if keep_entries < 0:
        message = f"A conversation cannot be cut to {keep_entries} entries."
        raise UserError(message, hint="Count the entries to keep from the start, from 0.")
    kept: list[Segment] = []
    left = keep_entries
    for segment in segments:
        if len(segment.entries) > left:
            cut = max(position for position in legal_cuts(segment.entries) if position <= left)
            if cut:
                kept.append(Segment(segment.run_id, segment.entries[:cut]))
            break
        kept.append(segment)
        left -= len(segment.entries)
    return kept


def fitting(memories: Iterable[PolicyMemory], entries: int) -> list[PolicyMemory]:
    """Return the memories that speak of no more than so many entries, in their order."""
    return [memory for memory in memories if memory.entries <= entries]
