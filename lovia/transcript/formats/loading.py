"""Recorded transcripts, read from files in any of the known formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia.errors import TranscriptFormatError
from lovia.transcript.formats.detect import Format, detect, format_names, named
from lovia.transcript.formats.document import Document, Note, Reading, load_document

if TYPE_CHECKING:
    import os

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Recording", "load_transcript", "read_recording"]


@dataclass(frozen=True, slots=True)
class Recording:
    """A transcript as a file held it.

    Attributes:
        entries: The transcript.
        messages: For each entry the number of the file's message that it came from, counted from 0.
        notes: What the file held besides and how it was treated.
        format: The name of the format it was read as.
        source: The file's name, or a description of the bytes.
    """

    entries: list[TranscriptEntry]
    messages: tuple[int, ...]
    notes: tuple[Note, ...]
    format: str
    source: str


def load_transcript(
    path_or_bytes: str | os.PathLike[str] | bytes, format: str | None = None
) -> list[TranscriptEntry]:
    """Read a recorded transcript from a file, or from the bytes of one.

    The whole file is read at once, in the calling thread; a program with an event loop calls this
    in a worker thread.

    Args:
        path_or_bytes: The path of a file, or its content as bytes.
        format: One of :func:`format_names`; ``None`` detects it from the content.

    Raises:
        TranscriptFormatError: The file is missing, empty, binary, damaged, in no known format, or
            not what its format promises. It names the file, the place in it, and what was expected.
    """
    return read_recording(path_or_bytes, format).entries


def read_recording(
    path_or_bytes: str | os.PathLike[str] | bytes, format: str | None = None
) -> Recording:
    """Read a transcript as :func:`load_transcript` does, with what else is known about the file."""
    document = load_document(path_or_bytes)
    chosen = _choose(document, format)
    reading = Reading()
    try:
        chosen.read(document, reading)
    except RecursionError:
        raise document.error(
            "a value is nested too deeply.",
            expected="values nested a few levels deep",
            hint="Look for a list that was never closed.",
        ) from None
    if not reading.entries:
        raise document.error(
            f"read as {chosen.title}, it holds no messages.",
            expected="at least one message",
            hint="Check that the recording was written to the end.",
        )
    return Recording(
        entries=reading.entries,
        messages=tuple(reading.messages),
        notes=tuple(reading.notes),
        format=chosen.name,
        source=document.source,
    )


def _choose(document: Document, name: str | None) -> Format:
    names = ", ".join(format_names())
    chosen = detect(document) if name is None else named(name)
    if chosen is not None:
        return chosen
    if name is None:
        raise document.error(
            "this is JSON, but no transcript in a format that lovia reads.",
            expected=f"a transcript in one of the formats {names}",
            hint="A list of messages with `role` and `content` is the simplest of them.",
        )
    raise TranscriptFormatError(
        f"There is no transcript format named {name!a}.",
        source=document.source,
        expected=f"one of {names}",
        hint=f"The formats are {names}.",
    )
