"""Work on large texts leaves the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import anyio.to_thread

from lovia.tokens import ByteCounter, TiktokenCounter
from lovia.transcript.entries import TranscriptEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["counts_in_threads", "is_large", "off_loop"]

_T = TypeVar("_T")

#: Characters whose counting or searching takes longer than going to a thread and back: a few
#: milliseconds with the slowest tokenizer.
_LARGE: Final = 20_000


def is_large(entries: Iterable[TranscriptEntry], text: str | None = None) -> bool:
    """Tell whether entries and a text are much to read; looks no further than it takes to tell."""
    characters = len(text or "")
    for entry in entries:
        characters += len(text_of(entry))
        if characters > _LARGE:
            return True
    return characters > _LARGE


def counts_in_threads(*counters: object) -> bool:
    """Tell whether all of these counters, ``None`` left out, may count outside the event loop.

    Ours may; a user's own is perhaps not made for threads, and counts where it is used elsewhere.
    """
    return all(isinstance(each, (ByteCounter, TiktokenCounter)) for each in counters if each)


async def off_loop(work: Callable[[], _T], *, large: bool) -> _T:
    """Return what ``work`` returns, done in a worker thread when it is large."""
    return await anyio.to_thread.run_sync(work) if large else work()
