"""A recorded session: the transcript of a file, and what its own provider counted.

The counts lie beside the transcript as ``<name>.usage.json``: a list of objects with the index of
an answer among the file's messages (``message``) and the ``prompt_tokens`` of the call behind it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lovia.errors import TranscriptFormatError
from lovia.replay.estimate import fell
from lovia.transcript.formats import read_recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["RecordedCount", "RecordedSession", "load_session"]


@dataclass(frozen=True, slots=True)
class RecordedCount:
    """What the provider counted for one call.

    Attributes:
        message: The index of the answer among the file's messages.
        tokens: Prompt tokens.
        compacted: Whether the session's own tool had compacted its context by then.
    """

    message: int
    tokens: int
    compacted: bool = False


@dataclass(frozen=True)
class RecordedSession:
    """A recorded session.

    Attributes:
        name: Its name, for people and as a session id.
        entries: The transcript.
        counts: The provider's counts by the number of entries before the call; ``None`` when the
            recording has none.
    """

    name: str
    entries: tuple[TranscriptEntry, ...]
    counts: Mapping[int, RecordedCount] | None = field(default=None, repr=False)

    def count_at(self, position: int) -> RecordedCount | None:
        """Return what the provider counted for the call before which ``position`` entries stand."""
        return self.counts.get(position) if self.counts else None


def load_session(path: str | Path, *, format: str | None = None) -> RecordedSession:
    """Read a transcript file and, where there is one, the file of recorded counts beside it.

    Both are read at once, in the calling thread.

    Args:
        path: The transcript, in any format that lovia reads.
        format: The format's name; detected when ``None``.

    Raises:
        TranscriptFormatError: The transcript or the counts are not what they should be.
    """
    path = Path(path)
    recording = read_recording(path, format)
    starts = {
        message: next(group)[0]
        for message, group in groupby(enumerate(recording.messages), key=lambda item: item[1])
    }
    beside = path.with_suffix(".usage.json")
    counts = {}
    if beside.is_file():
        counts = {starts[count.message]: count for count in _read_counts(beside, starts)}
    return RecordedSession(path.stem, tuple(recording.entries), counts or None)


def _read_counts(path: Path, starts: Mapping[int, int]) -> Iterator[RecordedCount]:
    compacted, previous = False, 0
    for number, item in enumerate(_read_list(path)):
        message, tokens = _member(item, "message"), _member(item, "prompt_tokens")
        if message is None or message not in starts or tokens is None:
            raise _malformed(
                path,
                f"item {number}",
                "an object with `message`, the index of one of the transcript's messages, "
                "and `prompt_tokens`, a count",
            )
        compacted = compacted or fell(previous, tokens)
        previous = tokens
        yield RecordedCount(message, tokens, compacted)


def _read_list(path: Path) -> list[Any]:
    try:
        items = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise _malformed(path, None, f"a JSON list ({error})") from None
    if not isinstance(items, list):
        raise _malformed(path, None, "a JSON list")
    return items


def _member(item: Any, key: str) -> int | None:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _malformed(path: Path, position: str | None, expected: str) -> TranscriptFormatError:
    place = f"{path}: {position}: " if position else f"{path}: "
    return TranscriptFormatError(
        f"{place}expected {expected}.",
        source=str(path),
        position=position,
        expected=expected,
        hint="Repair or remove the file of recorded counts; the transcript does not need it.",
    )
