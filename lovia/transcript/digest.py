"""What an entry is by content, in 16 bytes, and the chain of all entries up to a point.

A digest is computed once in an entry's lifetime, and a chain adds one link for each appended entry.
So a turn costs what was appended in it, however long the history is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    memo,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["DIGEST_BYTES", "HashMeter", "PrefixChain", "digest", "meter"]

DIGEST_BYTES: Final = 16
_MEMO: Final = "digest"


@dataclass(slots=True)
class HashMeter:
    """How much has been hashed so far in this process, by every digest and chain together.

    Attributes:
        entries: Entries whose content was hashed.
        links: Steps of a chain that were hashed.
        bytes: Bytes that both took.
    """

    entries: int = 0
    links: int = 0
    bytes: int = 0


meter: Final = HashMeter()


def digest(entry: TranscriptEntry) -> bytes:
    """Return the 16-byte digest of an entry's content; equal entries have equal digests.

    Every field counts, and so does where one ends and the next begins. Metadata counts as JSON: 1
    and true differ there, and the order of keys does not matter. Text may hold anything, lone
    surrogates included.
    """
    cache = memo(entry)
    known: bytes | None = cache.get(_MEMO)
    if known is None:
        content = _canonical(entry).encode("utf-8", "surrogatepass")
        known = hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
        cache[_MEMO] = known
        meter.entries += 1
        meter.bytes += len(content)
    return known


class PrefixChain:
    """The digests of every prefix of a growing list of entries.

    Each value covers the order and the content of all entries before it, so one value of 16 bytes
    proves that a saved decision belongs to these entries and no others. Looking a value up is free.

    Args:
        entries: The first entries of the list.
    """

    def __init__(self, entries: Iterable[TranscriptEntry] = ()) -> None:
        self._values = bytearray(DIGEST_BYTES)
        self.extend(entries)

    def __len__(self) -> int:
        return len(self._values) // DIGEST_BYTES - 1

    def extend(self, entries: Iterable[TranscriptEntry]) -> None:
        """Append entries to the list."""
        value = bytes(self._values[-DIGEST_BYTES:])
        for entry in entries:
            value = _link(value, entry)
            self._values += value

    def value(self, length: int | None = None) -> bytes:
        """Return the digest of the first ``length`` entries (of all, when ``None``).

        Raises:
            IndexError: The chain is not that long.
        """
        length = len(self) if length is None else length
        if not 0 <= length <= len(self):
            raise IndexError(f"the chain covers {len(self)} entries, not {length}")
        start = length * DIGEST_BYTES
        return bytes(self._values[start : start + DIGEST_BYTES])

    def covers(self, length: int, value: bytes) -> bool:
        """Tell whether the first ``length`` entries are there and have this digest."""
        return 0 <= length <= len(self) and self.value(length) == value

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` entries."""
        del self._values[(max(length, 0) + 1) * DIGEST_BYTES :]

    def agreement(self, entries: Sequence[TranscriptEntry]) -> int:
        """Return how many leading entries of another list equal this one's, by content.

        Costs one link for each entry up to the first difference.
        """
        value = self.value(0)
        for index in range(min(len(self), len(entries))):
            value = _link(value, entries[index])
            if value != self.value(index + 1):
                return index
        return min(len(self), len(entries))


def _link(value: bytes, entry: TranscriptEntry) -> bytes:
    meter.links += 1
    meter.bytes += 2 * DIGEST_BYTES
    return hashlib.blake2b(value + digest(entry), digest_size=DIGEST_BYTES).digest()


def _canonical(entry: TranscriptEntry) -> str:
    """Write an entry so that two texts are equal exactly when the entries are.

    The head up to the semicolon is made of fixed words and the lengths of all fields but the last,
    so no field can pass for the end of another. The frequent kinds are spelled out, because this
    runs for every entry.
    """
    match entry:
        case ToolResultEntry(call_id=call_id, output=output):
            head = f"result {entry.origin} {entry.is_error:d} {len(call_id)} {len(output)}"
            parts = _frame(map(_part, entry.parts)) if entry.parts else ""
            return f"{head};{call_id}{output}{parts}"
        case ToolCallEntry(call_id=call_id, name=name):
            return f"call {len(call_id)} {len(name)};{call_id}{name}{entry.arguments}"
        case AssistantTextEntry(content=text):
            return f"text {len(text)};{text}{_optional(entry.id)}"
        case InputEntry(content=str() as text):
            return f"input {entry.role} {entry.origin};{text}"
        case InputEntry(content=parts):
            return f"parts {entry.role} {entry.origin};{_frame(map(_part, parts))}"  # type: ignore[arg-type] # no text: the case above
        case ReasoningEntry(content=text):
            metadata = json.dumps(dict(entry.metadata), sort_keys=True, ensure_ascii=False)
            opaque = map(_optional, (entry.id, entry.provider, entry.signature))
            return f"thought;{_frame((text, *opaque, metadata))}"


def _part(part: ContentPart) -> str:
    match part:
        case TextPart(text=text):
            return f"text;{text}"
        case ImagePart():
            image = (part.url, part.data, part.mime_type, part.detail)
            return f"image;{_frame(map(_optional, image))}"
        case FilePart():
            file = (part.url, part.data, part.mime_type, part.filename)
            return f"file;{_frame(map(_optional, file))}"


def _frame(fields: Iterable[str]) -> str:
    """Write any number of fields one after the other, each behind its length."""
    return "".join([f"{len(field)}:{field}" for field in fields])


def _optional(field: str | None) -> str:
    """Tell an absent field from an empty one."""
    return "" if field is None else f"={field}"
