"""An archive in a folder."""

from __future__ import annotations

import itertools
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio
import anyio.to_thread

from lovia.context.archive import files
from lovia.context.archive.layout import Layout, has_variant, uri_of
from lovia.context.archive.naming import digest_of, run_name, safe_name, stamp
from lovia.context.policy import ArchiveRef
from lovia.errors import ArchiveError, TranscriptFormatError, UserError
from lovia.transcript.codec import read_jsonl, write_jsonl
from lovia_otel.spans import archive_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path, PurePath

    from lovia.context.policy import PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["FileCompactionArchive"]

T = TypeVar("T")

#: Writes at once; more than there are worker threads, so that only those count that hang.
_MOST_WRITES: Final = 64


class FileCompactionArchive:
    """Keeps removed content in files that people and tools can open.

    - ``{root}/transcripts/{session_id}/{run_id}-{timestamp}.jsonl``: the entries that a pass
      removed, one JSON object a line, in ASCII; :func:`~lovia.transcript.load_transcript` reads it.
    - ``{root}/tool-results/{session_id}/{call_id}.txt``: the text of one result, in UTF-8; a lone
      surrogate is kept as the three bytes that Python's ``surrogatepass`` gives it.

    Ids are made safe and bounded as file names, with a digest where they were changed, and
    distinct ids never share a file. A different output under a used id gets a digest as well; the
    same output is not written twice. Files are whole or absent, 0600 in folders of 0700, and links
    inside the root are never followed. Everything runs in worker threads, and nobody who is
    cancelled waits for a disk that hangs.

    The archive grows until :meth:`prune` or :meth:`delete` is called; a daily job is a good place.

    Args:
        root: The folder; made when first needed. References begin with it as it is written.
    """

    def __init__(self, root: str | PurePath = ".lovia") -> None:
        self._layout: Final = Layout(root)
        self._places: Final = threading.BoundedSemaphore(_MOST_WRITES)

    def __repr__(self) -> str:
        return f"FileCompactionArchive({self._layout.name!r})"

    async def save_transcript(
        self, entries: Sequence[TranscriptEntry], *, ctx: PolicyContext, reason: str
    ) -> ArchiveRef:
        """Write entries to a new file.

        Raises:
            ArchiveError: They could not be written.
            UserError: An entry's ``metadata`` is no JSON.
        """
        kept = tuple(entries)

        def write() -> ArchiveRef:
            data = "".join(write_jsonl(kept)).encode()
            folder = self._layout.session_folder("transcript", ctx.session_id, ctx.run_id)
            first = f"{run_name(ctx.run_id)}-{stamp(datetime.now(UTC))}"
            path = _publish_new(folder, first, ".jsonl", data)
            return ArchiveRef(self._layout.uri(path), "transcript", len(data), len(kept))

        return await self._saved(write, entries=len(kept))

    async def save_tool_result(
        self, output: str, *, call_id: str, ctx: PolicyContext
    ) -> ArchiveRef:
        """Write the text of a result, unless this very text is there already.

        Raises:
            ArchiveError: It could not be written.
        """

        def write() -> ArchiveRef:
            data = output.encode("utf-8", "surrogatepass")
            folder = self._layout.session_folder("tool_result", ctx.session_id, ctx.run_id)
            path = _publish_result(folder, call_id, data)
            return ArchiveRef(self._layout.uri(path), "tool_result", len(data))

        return await self._saved(write)

    async def load(self, ref: ArchiveRef | str) -> str | list[TranscriptEntry]:
        """Return the text of a result, or the entries of a transcript.

        Args:
            ref: A reference, or its ``uri``.

        Raises:
            ArchiveError: It is no reference of this archive, nothing is there any more, or what is
                there is damaged or no plain file.
        """
        *folders, name = self._layout.locate(ref)
        uri, is_text = uri_of(ref), self._layout.holds_text(ref)

        def read() -> str | list[TranscriptEntry]:
            data = files.read(files.enter(self._layout.root, *folders) / name)
            if is_text:
                return data.decode("utf-8", "surrogatepass")
            return list(read_jsonl(data.splitlines(), source=uri))

        try:
            return await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        except FileNotFoundError as error:
            hint = "It was pruned or deleted, or the archive's folder was moved."
            raise ArchiveError(f"Nothing is archived at {uri}.", uri=uri, hint=hint) from error
        except (UnicodeDecodeError, TranscriptFormatError) as error:
            message = f"The archived file {uri} is damaged: {error}"
            raise ArchiveError(message, uri=uri, hint="It was edited or cut short.") from error
        except OSError as error:
            raise self._failure("read", error, uri) from error

    def owns(
        self, ref: ArchiveRef | str, *, session_id: str | None, run_id: str | None = None
    ) -> bool:
        """Tell whether a reference is this archive's and that conversation's; touches no disk."""
        try:
            _, folder, _ = self._layout.locate(ref)
        except ArchiveError:
            return False
        return self._layout.belongs(folder, session_id, run_id)

    async def delete(self, session_id: str | None) -> int:
        """Remove everything kept for a conversation; ``None`` for all runs without one.

        Returns:
            The number of files removed.

        Raises:
            ArchiveError: Something could not be removed.
        """

        def work() -> int:
            removed = 0
            for folder in list(self._layout.sessions_of(session_id)):
                found = list(files.walk(folder))
                removed += sum(files.remove(file.path) and not file.temporary for file in found)
                files.remove_empty(folder)
            return removed

        return await self._removed(work)

    async def prune(
        self, *, older_than: timedelta | float | None = None, keep: int | None = None
    ) -> int:
        """Remove what is no longer wanted, and the rests of interrupted writes.

        Args:
            older_than: Remove files that were written longer ago, in seconds or as a ``timedelta``.
            keep: Spare this many files, the newest of the whole archive, whatever their age.

        Returns:
            The number of files removed.

        Raises:
            UserError: Neither was given, or one is negative.
            ArchiveError: Something could not be removed.
        """
        age = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
        if (age is None and keep is None) or (age or 0) < 0 or (keep or 0) < 0:
            message = "prune() needs an age, a number of files to keep, or both; none is negative."
            raise UserError(message, hint="For example prune(older_than=timedelta(days=30)).")
        return await self._removed(lambda: self._prune(age, keep or 0))

    def _prune(self, age: float | None, keep: int) -> int:
        folders = list(self._layout.sessions())
        found = sorted(
            (file for folder in folders for file in files.walk(folder)),
            key=lambda file: (-file.modified, file.path),
        )
        latest = None if age is None else datetime.now(UTC).timestamp() - age
        whole = [file for file in found if not file.temporary]
        old = [file for file in whole[keep:] if latest is None or file.modified <= latest]
        removed = sum(files.remove(file.path) for file in old)
        for file in found:
            if file.stale:
                files.remove(file.path)
        for folder in folders:
            files.remove_empty(folder)
        return removed

    async def _saved(
        self, write: Callable[[], ArchiveRef], entries: int | None = None
    ) -> ArchiveRef:
        """Write in a thread and trace it.

        A cancellation does not wait for a disk that may hang: the thread goes on, and what it
        writes is whole or absent.
        """
        with archive_scope(store="file", entries=entries) as scope:
            try:
                ref = await anyio.to_thread.run_sync(
                    self._held, partial(_persistently, write), abandon_on_cancel=True
                )
            except OSError as error:
                raise self._failure("write", error) from error
            except anyio.get_cancelled_exc_class():
                if anyio.current_effective_deadline() <= anyio.current_time():
                    scope.close(ArchiveError("It was not written in time."))
                raise
            scope.settle(ref=ref.uri, size=ref.size)
            return ref

    def _held(self, write: Callable[[], ArchiveRef]) -> ArchiveRef:
        """Write, unless too many writes that nobody waits for any more are still at it."""
        if not self._places.acquire(blocking=False):
            message = f"The archive in {self._layout.name} still hangs in earlier writes."
            raise ArchiveError(message, hint="Look at the disk that it is on.")
        try:
            return write()
        finally:
            self._places.release()

    async def _removed(self, work: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(work)
        except OSError as error:
            raise self._failure("remove", error) from error

    def _failure(self, what: str, error: OSError, uri: str | None = None) -> ArchiveError:
        message = f"The archive in {self._layout.name} could not {what} a file: {error}"
        hint = "Check that this process may use that folder, and that the disk has room."
        return ArchiveError(message, uri=uri, hint=hint)


def _persistently(write: Callable[[], T]) -> T:
    """Write again when a clean-up took the folder away in between."""
    try:
        return write()
    except FileNotFoundError:
        return write()


def _publish_new(folder: Path, first: str, ending: str, data: bytes) -> Path:
    """Write a file under a name that nothing has."""
    names = itertools.chain([first], (f"{first}~{number}" for number in itertools.count(2)))
    return next(
        folder / (name + ending) for name in names if files.publish(folder, name + ending, data)
    )


def _publish_result(folder: Path, call_id: str, data: bytes) -> Path:
    """Write a result under its call's id, or under that and a digest when the id is taken."""
    name = safe_name(call_id)
    if has_variant(f"{name}.txt", files.names_in(folder)):
        name = safe_name(call_id, plain=False)
    path = folder / f"{name}.txt"
    if files.publish(folder, path.name, data) or files.holds(path, data):
        return path
    path = folder / f"{name}~{digest_of(data, kind='content')}.txt"
    if not files.holds(path, data):
        files.publish(folder, path.name, data, replace=True)  # the name is the content's own
    return path
