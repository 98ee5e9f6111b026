"""What an entry is by content, in 16 bytes, and the chain of all entries up to a point.

A digest is computed once in an entry's lifetime, and a chain takes in the digests of what was
appended. So a turn costs what was appended in it, however long the history is.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

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
    from collections.abc import Callable, Iterable

__all__ = ["DIGEST_BYTES", "HashMeter", "PrefixChain", "digest", "meter"]

DIGEST_BYTES: Final = 16
_MEMO: Final = "digest"
_STRIDE: Final = 64  # entries between two remembered states of a chain


@dataclass(slots=True)
class HashMeter:
    """How much has been hashed so far in this process, by every digest and chain together.

    Attributes:
        entries: Entries whose content was hashed.
        bytes: Bytes that were hashed, the digests that chains are made of included.
    """

    entries: int = 0
    bytes: int = 0


meter: Final = HashMeter()


def digest(entry: TranscriptEntry) -> bytes:
    """Return the 16-byte digest of an entry's content; equal entries have equal digests.

    Every field counts, and so does where one ends and the next begins. Metadata counts as JSON: 1
    and true differ there, and the order of keys does not matter. Text may hold anything, lone
    surrogates included. The hash is SHA-256, cut short: processors have instructions for it.
    """
    cache = memo(entry)
    known: bytes | None = cache.get(_MEMO)
    if known is None:
        head, body = _WRITERS[type(entry)](entry)
        content = body.encode("utf-8", "surrogatepass")
        frame = head.encode("utf-8", "surrogatepass")
        state = hashlib.sha256(frame, usedforsecurity=False)
        state.update(content)
        known = cache[_MEMO] = state.digest()[:DIGEST_BYTES]
        meter.entries += 1
        meter.bytes += len(frame) + len(content)
    return known


class PrefixChain:
    """The digests of every prefix of a growing list of entries.

    Each value covers the order and the content of all entries before it, so one value of 16 bytes
    proves that a saved decision belongs to these entries and no others. A value is the hash of the
    entries' digests; where the hash stood is remembered at even distances, so a value
    costs 1 kB of hashing at the most, however long the list is.

    Args:
        entries: The first entries of the list.
    """

    def __init__(self, entries: Iterable[TranscriptEntry] = ()) -> None:
        self._digests = bytearray()
        self._marks = [hashlib.sha256()]  # the hash after each multiple of _STRIDE entries
        self.extend(entries)

    def __len__(self) -> int:
        return len(self._digests) // DIGEST_BYTES

    def extend(self, entries: Iterable[TranscriptEntry]) -> None:
        """Append entries to the list."""
        self._digests += b"".join(map(digest, entries))
        while len(self._marks) * _STRIDE <= len(self):
            self._marks.append(self._hashed(len(self._marks) * _STRIDE))

    def value(self, length: int | None = None) -> bytes:
        """Return the digest of the first ``length`` entries (of all, when ``None``).

        Raises:
            IndexError: The chain is not that long.
        """
        length = len(self) if length is None else length
        if not 0 <= length <= len(self):
            raise IndexError(f"the chain covers {len(self)} entries, not {length}")
        return self._hashed(length).digest()[:DIGEST_BYTES]

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` entries."""
        length = max(length, 0)
        del self._digests[length * DIGEST_BYTES :]
        del self._marks[length // _STRIDE + 1 :]

    def _hashed(self, length: int) -> hashlib._Hash:
        """Return the hash over the first ``length`` digests, from the last mark before them."""
        mark = min(length // _STRIDE, len(self._marks) - 1)
        rest = self._digests[mark * _STRIDE * DIGEST_BYTES : length * DIGEST_BYTES]
        state = self._marks[mark].copy()
        state.update(rest)
        meter.bytes += len(rest)
        return state


# Each kind of entry is written as a head and a body, so that two are equal, one put behind the
# other, exactly when the entries are. The head up to the semicolon is made of fixed words and the
# lengths of all fields but the last, so no field can pass for the end of another. The body is the
# long text itself, which is not copied for this.


def _text(entry: AssistantTextEntry) -> tuple[str, str]:
    text = entry.content
    return f"text {len(text)};", text if entry.id is None else text + _optional(entry.id)


def _input(entry: InputEntry) -> tuple[str, str]:
    content = entry.content
    if isinstance(content, str):
        return f"input {entry.role} {entry.origin};", content
    return f"parts {entry.role} {entry.origin};", _frame(map(_part, content))


def _call(entry: ToolCallEntry) -> tuple[str, str]:
    call_id, name = entry.call_id, entry.name
    return f"call {len(call_id)} {len(name)};{call_id}{name}", entry.arguments


def _result(entry: ToolResultEntry) -> tuple[str, str]:
    call_id, output = entry.call_id, entry.output
    lengths = f"{len(call_id)} {len(output)}"
    head = f"result {entry.origin} {entry.is_error:d} {lengths};{call_id}"
    return head, output + _frame(map(_part, entry.parts)) if entry.parts else output


def _thought(entry: ReasoningEntry) -> tuple[str, str]:
    metadata = json.dumps(dict(entry.metadata), sort_keys=True, ensure_ascii=False)
    opaque = map(_optional, (entry.id, entry.provider, entry.signature))
    return "thought;", _frame((entry.content, *opaque, metadata))


_WRITERS: Final[dict[type, Callable[[Any], tuple[str, str]]]] = {
    AssistantTextEntry: _text,
    InputEntry: _input,
    ReasoningEntry: _thought,
    ToolCallEntry: _call,
    ToolResultEntry: _result,
}


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
