"""Where an archive in a folder keeps what: from ids to paths and references, and back."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from lovia.context.archive import files
from lovia.context.archive.naming import LONE_RUN, is_safe_path_part, session_name
from lovia.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lovia.context.policy import ArchiveRef

__all__ = ["Kind", "Layout", "has_variant", "uri_of"]

Kind: TypeAlias = Literal["transcript", "tool_result"]

_FOLDERS: Final[dict[Kind, str]] = {"transcript": "transcripts", "tool_result": "tool-results"}
_ENDINGS: Final = {"transcripts": ".jsonl", "tool-results": ".txt"}
_DEPTH: Final = 3  # kind, session, file
_SHOWN: Final = 200  # characters of a bad reference that an error shows


class Layout:
    """The tree of an archive: ``{root}/{kind}/{session}/{file}``.

    Args:
        root: The folder. References begin with it as it is written; a relative one is resolved
            once, when it is first needed, so that a later change of the working folder does not
            split the archive.
    """

    def __init__(self, root: str | PurePath) -> None:
        self.name: Final = PurePath(root).as_posix()
        self._root: Final = root
        self._prefix: Final = "" if self.name == "." else self.name.rstrip("/") + "/"

    @cached_property
    def root(self) -> Path:
        """The folder; looking it up may ask the system, so this is for worker threads."""
        return Path(self._root).absolute()

    def session_folder(self, kind: Kind, session_id: str | None, run_id: str | None) -> Path:
        """Return the folder of a conversation, made when it is missing.

        An id whose folder another id has already, in other letter case, gets a digest: some file
        systems would take the two for one.
        """
        name = session_name(session_id, run_id)
        if has_variant(name, files.names_in(self.root / _FOLDERS[kind])):
            name = session_name(session_id, run_id, plain=False)
        return files.enter(self.root, _FOLDERS[kind], name, create=True)

    def uri(self, path: Path) -> str:
        """Return the reference of a file of the archive."""
        return self._prefix + path.relative_to(self.root).as_posix()

    def locate(self, ref: ArchiveRef | str) -> tuple[str, str, str]:
        """Return kind, session folder and file name of a reference; touches no disk.

        Raises:
            ArchiveError: It is none that this archive can have given out.
        """
        uri = uri_of(ref)
        parts = uri.removeprefix(self._prefix).split("/") if uri.startswith(self._prefix) else []
        if len(parts) == _DEPTH and all(map(is_safe_path_part, parts)):
            kind, session, name = parts
            if kind in _ENDINGS and name.endswith(_ENDINGS[kind]):
                return kind, session, name
        message = f"{uri[:_SHOWN]!r} is no reference of the archive in {self.name}."
        raise ArchiveError(message, uri=uri, hint="Use a reference that the archive gave out.")

    def holds_text(self, ref: ArchiveRef | str) -> bool:
        """Tell whether a reference is to the text of a tool result."""
        return self.locate(ref)[0] == _FOLDERS["tool_result"]

    def belongs(self, folder: str, session_id: str | None, run_id: str | None = None) -> bool:
        """Tell whether a session folder is a conversation's; runs without one are told apart."""
        return folder in {session_name(session_id, run_id, plain=plain) for plain in (True, False)}

    def sessions(self) -> Iterator[Path]:
        """Yield the folders of all conversations; links are passed over."""
        for kind in _FOLDERS.values():
            parent = self.root / kind
            if not parent.is_symlink():
                for name in sorted(files.names_in(parent)):
                    folder = parent / name
                    if folder.is_dir() and not folder.is_symlink():
                        yield folder

    def sessions_of(self, session_id: str | None) -> Iterator[Path]:
        """Yield the folders of one conversation; ``None`` stands for all runs without one."""
        for folder in self.sessions():
            lone_run = session_id is None and folder.name.startswith(LONE_RUN)
            if lone_run or self.belongs(folder.name, session_id):
                yield folder


def has_variant(name: str, taken: Iterable[str]) -> bool:
    """Tell whether a name is taken by another one that differs in letter case alone."""
    folded = name.casefold()
    return any(other != name and other.casefold() == folded for other in taken)


def uri_of(ref: ArchiveRef | str) -> str:
    """Return the address of a reference, or the address itself."""
    return ref if isinstance(ref, str) else ref.uri
