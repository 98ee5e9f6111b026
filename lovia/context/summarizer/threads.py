"""Work on large texts leaves the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple

import anyio.to_thread

from lovia.transcript.entries import TranscriptEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["characters", "run_sized"]

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

#: Characters whose counting or searching takes longer than going to a thread and back: a few
#: milliseconds with the slowest tokenizer.
_LARGE: Final = 20_000


def characters(entries: Iterable[TranscriptEntry]) -> int:
    """Return the characters of all readable text of some entries."""
    return sum(len(text_of(entry)) for entry in entries)


async def run_sized(size: int, work: Callable[[*_Ts], _T], *args: *_Ts) -> _T:
    """Return ``work(*args)``, done in a worker thread when it reads many characters."""
    if size <= _LARGE:
        return work(*args)
    return await anyio.to_thread.run_sync(work, *args)
