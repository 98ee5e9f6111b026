"""An archive with a time limit: a disk that hangs must not hold up a conversation."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from lovia.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lovia.context.archive.protocol import CompactionArchive
    from lovia.context.policy import ArchiveRef, PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["DEFAULT_SECONDS", "TimedArchive", "timed"]

T = TypeVar("T")

#: Seconds that an archive has for one thing.
DEFAULT_SECONDS: Final = 10.0
#: Seconds for which an archive that did not answer in time is not asked again: a pass with many
#: results must not wait for each of them.
_REST_SECONDS: Final = 60.0


class TimedArchive:
    """Asks another archive, and no longer than it may take.

    What is given up is cancelled. An archive that does not heed that, or works in a thread, may
    still finish; nothing refers to what it writes then.

    Args:
        archive: The archive.
        seconds: Its time for one thing; ``None``: as long as it takes.
    """

    def __init__(self, archive: CompactionArchive, seconds: float | None) -> None:
        self.archive: Final[CompactionArchive] = archive
        self._seconds = seconds
        self._rests_until = 0.0

    def __getattr__(self, name: str) -> Any:
        """Return what the archive has beside the three methods of every archive."""
        if name.startswith("__") or name == "archive":  # asked for by a copy in the making
            raise AttributeError(name)
        return getattr(self.archive, name)

    async def save_transcript(
        self, entries: Sequence[TranscriptEntry], *, ctx: PolicyContext, reason: str
    ) -> ArchiveRef:
        """Have entries kept; raises :class:`~lovia.errors.ArchiveError` when the time is up."""
        return await self._in_time(
            lambda: self.archive.save_transcript(entries, ctx=ctx, reason=reason)
        )

    async def save_tool_result(
        self, output: str, *, call_id: str, ctx: PolicyContext
    ) -> ArchiveRef:
        """Have a result kept; raises :class:`~lovia.errors.ArchiveError` when the time is up."""
        return await self._in_time(
            lambda: self.archive.save_tool_result(output, call_id=call_id, ctx=ctx)
        )

    async def load(self, ref: ArchiveRef | str) -> str | list[TranscriptEntry]:
        """Have something read; raises :class:`~lovia.errors.ArchiveError` when the time is up."""
        return await self._in_time(lambda: self.archive.load(ref))

    async def _in_time(self, ask: Callable[[], Awaitable[T]]) -> T:
        if monotonic() < self._rests_until:
            message = "The archive did not answer in time a moment ago, and is not asked for now."
            raise ArchiveError(message, hint=_HINT)
        with anyio.move_on_after(self._seconds):
            return await ask()
        self._rests_until = monotonic() + _REST_SECONDS
        message = f"The archive did not answer within {self._seconds:g} seconds."
        raise ArchiveError(message, hint=_HINT)


_HINT: Final = "Look at its disk or its connection, or allow more archive_timeout_seconds."


def timed(
    archive: CompactionArchive | None, seconds: float | None = DEFAULT_SECONDS
) -> TimedArchive | None:
    """Return an archive with a time limit, or itself where it has one."""
    if archive is None or isinstance(archive, TimedArchive):
        return archive
    return TimedArchive(archive, seconds)
