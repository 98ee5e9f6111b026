"""A file of JSON or of JSON lines, read but not yet understood, and what a reader makes of it."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lovia.errors import TranscriptFormatError
from lovia.transcript.entries import AssistantTextEntry, TranscriptEntry
from lovia.transcript.located import Located, parse_json, parse_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Document", "Note", "Reading", "load_document"]

_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Document:
    """The JSON of one file.

    Attributes:
        source: The file's name, or a description of the bytes.
        root: The whole value of a file that holds one object, else ``None``.
        rows: The lines of a JSON Lines file, the elements of a list, or the one object.
    """

    source: str
    root: Located | None
    rows: list[Located]

    def error(self, message: str, *, expected: str, hint: str) -> TranscriptFormatError:
        """Return an error about the file as a whole."""
        return TranscriptFormatError(
            f"{self.source}: {message}", source=self.source, expected=expected, hint=hint
        )

    def member(self, *path: str) -> Located | None:
        """Return what the object holds under nested keys, or ``None`` without such a thing."""
        node = self.root
        for key in path:
            if node is None or not isinstance(node.value, dict) or key not in node.value:
                return None
            node = node.at(key)
        return node

    def messages(self) -> list[Located]:
        """Return the messages: an object's ``messages``, the elements of a list, or the lines."""
        listed = self.member("messages")
        return self.rows if listed is None else listed.items("a list of messages")


@dataclass(frozen=True, slots=True)
class Note:
    """Something in a file that its reader left out or had to put another way.

    Attributes:
        position: Where in the file, or ``None`` for the file as a whole.
        text: What the reader did, in one sentence.
    """

    position: str | None
    text: str


@dataclass(slots=True)
class Reading:
    """What a reader collects: the entries, the message each came from, and notes.

    Attributes:
        entries: The transcript so far.
        messages: For each entry the number of its message in the file, counted from 0.
        notes: What was left out or put another way.
    """

    entries: list[TranscriptEntry] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _count: int = 0

    def add(self, entries: Iterable[TranscriptEntry], *, continued: bool = False) -> None:
        """Add the entries of one message.

        Args:
            entries: The entries; a model message in which nothing was said still leaves a trace, an
                empty text, so that no message of the file is lost.
            continued: Whether they belong to the message before, which the file keeps in pieces.
        """
        if not (continued and self._count):
            self._count += 1
        added = list(entries) or [AssistantTextEntry("")]
        self.entries.extend(added)
        self.messages.extend([self._count - 1] * len(added))

    def note(self, place: Located, text: str) -> None:
        """Record what was done with something that an entry cannot hold."""
        self.notes.append(Note(place.position, text))


def load_document(path_or_bytes: str | os.PathLike[str] | bytes) -> Document:
    """Read a file (or bytes) and parse it as JSON or as JSON Lines.

    Raises:
        TranscriptFormatError: There is no such file, or it is empty, no text, or no JSON.
    """
    if isinstance(path_or_bytes, bytes):
        source, data = "the given bytes", path_or_bytes
    else:
        source, data = _read(path_or_bytes)
    text = _decode(data, source)
    if not text or text.isspace():
        raise TranscriptFormatError(
            f"{source} is empty.",
            source=source,
            expected="JSON or JSON Lines",
            hint="Check that the recording was written to the end.",
        )
    return _parse(text, source)


def _read(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    source = os.fsdecode(path).encode("utf-8", "backslashreplace").decode()
    try:
        return source, Path(path).read_bytes()
    except FileNotFoundError:
        problem, hint = "there is no such file", "Check the path; pass content as bytes."
    except IsADirectoryError:
        problem, hint = "this is a folder", "Name one file in it."
    except (OSError, ValueError) as error:
        problem, hint = f"cannot be read ({_reason(error)})", "Check the path and its permissions."
    raise TranscriptFormatError(
        f"{source}: {problem}.", source=source, expected="a readable file", hint=hint
    )


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _decode(data: bytes, source: str) -> str:
    """Decode UTF-8 with or without a byte order mark, and UTF-16 with one."""
    encoding = "utf-16" if data.startswith(_WIDE_MARKS) else "utf-8"
    try:
        return data.decode(encoding, "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        position = f"byte {error.start}"
        raise TranscriptFormatError(
            f"{source}: {position}: this is no text in {encoding.upper()}.",
            source=source,
            position=position,
            expected="UTF-8 text",
            hint="A transcript is a JSON file; unpack a compressed one first.",
        ) from None


def _parse(text: str, source: str) -> Document:
    try:
        root = parse_json(text, source=source)
    except TranscriptFormatError:
        if not _is_json_lines(text):
            raise
        return Document(source, None, list(parse_lines(text.split("\n"), source=source)))
    if isinstance(root.value, list):
        return Document(source, None, root.items())
    return Document(source, root, [root])


def _is_json_lines(text: str) -> bool:
    """Tell whether the first line is an object by itself and further lines follow."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest or rest.isspace():
        return False
    try:
        return isinstance(parse_json(first, source="").value, dict)
    except TranscriptFormatError:
        return False
