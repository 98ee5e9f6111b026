"""What an archive of removed content is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import ArchiveRef, PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["CompactionArchive"]


@runtime_checkable
class CompactionArchive(Protocol):
    """Keeps what compaction takes out of the view.

    An archive may also have ``owns(ref, *, session_id, run_id) -> bool``, which lets the recall
    tool read from it by reference without reaching into other conversations, and
    ``await delete(session_id)`` and ``await prune(...)`` for retention.

    A policy survives an archive that fails: raise :class:`~lovia.errors.ArchiveError` or
    ``OSError``.
    """

    async def save_transcript(
        self, entries: Sequence[TranscriptEntry], *, ctx: PolicyContext, reason: str
    ) -> ArchiveRef:
        """Keep entries that a pass removed.

        Args:
            entries: The entries, in the transcript's order.
            ctx: The call; its session and run say whose they are.
            reason: The compaction reason of the pass.
        """
        ...

    async def save_tool_result(
        self, output: str, *, call_id: str, ctx: PolicyContext
    ) -> ArchiveRef:
        """Keep the whole text of a tool result.

        Args:
            output: The text; lone surrogates and all.
            call_id: The model's id of the call. Ids are hostile, and models reuse them.
            ctx: The call; its session and run say whose it is.
        """
        ...

    async def load(self, ref: ArchiveRef | str) -> str | list[TranscriptEntry]:
        """Return what a reference or its ``uri`` stands for: a result's text, or entries."""
        ...
