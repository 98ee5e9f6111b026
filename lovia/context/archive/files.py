"""Careful file operations: private, atomic, and never through a symbolic link.

All of these block; they are called in worker threads.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "NotRegularError",
    "StoredFile",
    "enter",
    "holds",
    "names_in",
    "publish",
    "read",
    "remove",
    "remove_empty",
    "walk",
]

_TEMPORARY: Final = ".tmp"
_STALE_SECONDS: Final = 3_600.0  # a write that takes longer was interrupted
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_NO_BLOCK: Final = getattr(os, "O_NONBLOCK", 0)  # a planted pipe must not hold the reader


class NotRegularError(OSError):
    """Something in the archive is neither a plain file nor a plain folder."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the archive.

    Attributes:
        path: Where it is.
        modified: When it was written, in seconds since the epoch.
        temporary: Whether it is the rest of an interrupted write.
    """

    path: Path
    modified: float
    temporary: bool

    @property
    def stale(self) -> bool:
        """Whether it is the rest of a write that nobody will finish."""
        return self.temporary and time.time() - self.modified > _STALE_SECONDS


def enter(root: Path, *parts: str, create: bool = False) -> Path:
    """Return a folder below ``root`` after checking each step of the way.

    Args:
        root: The archive's own folder; it may itself be a link.
        parts: Names of folders below it.
        create: Make what is missing, for the owner's eyes only, and close what is open to others.

    Raises:
        NotRegularError: One of the steps is a link, or no folder.
        OSError: It is not there, or cannot be made.
    """
    if create:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = root
    for part in parts:
        path /= part
        if create:
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        state = path.lstat()
        if not stat.S_ISDIR(state.st_mode):
            raise NotRegularError(f"{path} is no plain folder")
        if create and stat.S_IMODE(state.st_mode) & 0o077:
            path.chmod(0o700)
    return path


def publish(folder: Path, name: str, data: bytes, *, replace: bool = False) -> bool:
    """Write a file that is either whole or not there, readable by its owner alone.

    Args:
        folder: A folder that exists.
        name: The file's name.
        data: Its content.
        replace: Whether to take the place of whatever has the name.

    Returns:
        Whether it was written; ``False`` when the name is taken and ``replace`` is not asked for.
    """
    temporary = folder / f".{secrets.token_hex(12)}{_TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(folder / name)
        elif not _take_name(temporary, folder / name):
            return False
        _sync(folder)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _take_name(temporary: Path, target: Path) -> bool:
    """Give a finished file its name unless something has it, in one step where that is possible."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        return False
    except (OSError, NotImplementedError):  # no hard links here: reserve the name, then replace
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600))
        except FileExistsError:
            return False
        temporary.replace(target)
    return True


def _sync(folder: Path) -> None:
    """Make a new name survive a crash, where folders can be synchronised."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read(path: Path) -> bytes:
    """Return the content of a plain file.

    Raises:
        NotRegularError: It is a link, a folder, a pipe or a device.
        OSError: It is not there, or cannot be read.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise NotRegularError(f"{path} is no plain file")
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _BINARY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotRegularError(f"{path} is no plain file")
        return file.read()


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder; none when it is not there."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names, not paths
    except FileNotFoundError:
        return []


def walk(folder: Path) -> Iterator[StoredFile]:
    """Yield the plain files right inside a folder; links and folders are passed over."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as found:
        for item in found:
            with suppress(FileNotFoundError):
                if item.is_file(follow_symlinks=False):
                    modified = item.stat(follow_symlinks=False).st_mtime
                    yield StoredFile(Path(item.path), modified, item.name.endswith(_TEMPORARY))


def holds(path: Path, data: bytes) -> bool:
    """Tell whether a plain file holds exactly this."""
    try:
        return path.lstat().st_size == len(data) and read(path) == data
    except OSError:
        return False


def remove(path: Path) -> bool:
    """Remove a file; return whether there was one."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def remove_empty(folder: Path) -> None:
    """Remove a folder unless something is in it."""
    with suppress(OSError):  # not empty, or gone already
        folder.rmdir()
