"""An archive in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.context.archive.layout import uri_of
from lovia.context.archive.naming import LONE_RUN, digest_of, run_name, safe_name, session_name
from lovia.context.policy import ArchiveRef
from lovia.errors import ArchiveError
from lovia_otel.spans import archive_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["MemoryArchive"]

_PREFIX: Final = "memory:"


class MemoryArchive:
    """Keeps removed content for as long as the object lives: for tests, and for short runs.

    References look like the paths of :class:`FileCompactionArchive`, with ``memory:`` before them.
    """

    def __init__(self) -> None:
        self._kept: Final[dict[str, str | tuple[TranscriptEntry, ...]]] = {}

    def __repr__(self) -> str:
        return f"MemoryArchive({len(self._kept)} kept)"

    async def save_transcript(
        self, entries: Sequence[TranscriptEntry], *, ctx: PolicyContext, reason: str
    ) -> ArchiveRef:
        """Keep entries."""
        with archive_scope(store="memory", entries=len(entries)) as scope:
            session = session_name(ctx.session_id, ctx.run_id)
            uri = (
                f"{_PREFIX}transcripts/{session}/{run_name(ctx.run_id)}-{len(self._kept) + 1}.jsonl"
            )
            self._kept[uri] = tuple(entries)
            scope.settle(ref=uri)
            return ArchiveRef(uri, "transcript", entries=len(entries))

    async def save_tool_result(
        self, output: str, *, call_id: str, ctx: PolicyContext
    ) -> ArchiveRef:
        """Keep the text of a result; a different text under a used id gets a digest."""
        with archive_scope(store="memory") as scope:
            folder = f"{_PREFIX}tool-results/{session_name(ctx.session_id, ctx.run_id)}"
            uri = f"{folder}/{safe_name(call_id)}.txt"
            if self._kept.get(uri, output) != output:
                uri = f"{folder}/{safe_name(call_id)}~{digest_of(output, kind='content')}.txt"
            self._kept[uri] = output
            size = len(output.encode("utf-8", "surrogatepass"))
            scope.settle(ref=uri, size=size)
            return ArchiveRef(uri, "tool_result", size)

    async def load(self, ref: ArchiveRef | str) -> str | list[TranscriptEntry]:
        """Return what a reference stands for.

        Raises:
            ArchiveError: Nothing is kept there.
        """
        uri = uri_of(ref)
        kept = self._kept.get(uri)
        if kept is None:
            hint = "It was deleted, or belongs to another archive."
            raise ArchiveError(f"Nothing is archived at {uri[:200]!r}.", uri=uri, hint=hint)
        return kept if isinstance(kept, str) else list(kept)

    def owns(
        self, ref: ArchiveRef | str, *, session_id: str | None, run_id: str | None = None
    ) -> bool:
        """Tell whether a reference is this archive's and that conversation's."""
        folder = f"/{session_name(session_id, run_id)}/"
        return uri_of(ref) in self._kept and folder in uri_of(ref)

    async def delete(self, session_id: str | None) -> int:
        """Forget what is kept for a conversation, ``None`` for all runs without one; count it."""
        folder = f"/{session_name(session_id, None)}/"
        marks = (folder, f"/{LONE_RUN}") if session_id is None else (folder,)
        gone = [uri for uri in self._kept if any(mark in uri for mark in marks)]
        for uri in gone:
            del self._kept[uri]
        return len(gone)
