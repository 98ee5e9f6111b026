"""How large a list of messages is, where nobody who knows better counts: told from its bytes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lovia_otel import names

BYTES_PER_TOKEN: Final = 4  # the usual rule of thumb for English text and code
MESSAGE_TOKENS: Final = 4  # what a chat format adds to each message, by OpenAI's published counting
BLOB_TOKENS: Final = 1_000  # stands for an image or a file, which providers count by other rules
MAX_DEPTH: Final = 12  # of objects inside a message; what lies deeper is not counted

# Attributes that frameworks keep beside a message and do not send.
_NOT_SENT: Final = frozenset(
    {
        *("id", "run_id", "metadata", "response_metadata", "usage_metadata", "usage"),
        *("timestamp", "provider_details", "origin"),
    }
)

_log = logging.getLogger("lovia_otel")


@dataclass(frozen=True)
class Size:
    """How large a view is: tokens and entries, and who counted the tokens.

    ``source`` is ``provider``, ``tokenizer`` or ``bytes``.
    """

    tokens: int | None
    entries: int | None
    source: str | None = None

    def minus(self, other: Size) -> int | None:
        """Return by how many tokens ``other`` is smaller; ``None`` when nobody knows."""
        if self.tokens is None or other.tokens is None:
            return None
        return self.tokens - other.tokens


Measure = Callable[[Sequence[Any]], Size]


def size_from_bytes(messages: Sequence[Any]) -> Size:
    """Estimate the tokens of ``messages`` from the UTF-8 bytes of all texts in them."""
    size = _Bytes()
    for message in messages:
        size.add(message, 0)
    texts = -(-size.count // BYTES_PER_TOKEN)
    tokens = texts + size.blobs * BLOB_TOKENS + len(messages) * MESSAGE_TOKENS
    return Size(tokens, len(messages), names.SOURCE_BYTES)


def size_by(counter: Callable[[Any], int], source: str = names.SOURCE_TOKENIZER) -> Measure:
    """Return a measure that asks ``counter`` for the tokens of a list; it may fail."""

    def measure(messages: Sequence[Any]) -> Size:
        return Size(int(counter(messages)), len(messages), source)

    return measure


def safely(measure: Measure) -> Measure:
    """Return a measure that never raises: where ``measure`` fails, the bytes speak."""

    def call(messages: Sequence[Any]) -> Size:
        try:
            return measure(messages)
        except Exception:  # noqa: BLE001 - somebody else's counter
            _log.debug("a token counter failed", exc_info=True)
        try:
            return size_from_bytes(messages)
        except Exception:  # noqa: BLE001 - somebody else's message classes
            _log.debug("messages could not be measured", exc_info=True)
            return Size(None, len(messages))

    return call


def same(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Are these the same messages? Classes by anyone may compare in any way, or not at all."""
    if len(before) != len(after):
        return False
    try:
        return all(old is new or bool(old == new) for old, new in zip(before, after, strict=True))
    except Exception:  # noqa: BLE001 - somebody else's __eq__
        return False


class _Bytes:
    """Adds up the bytes of texts, wherever they are in a message."""

    def __init__(self) -> None:
        self.count = 0
        self.blobs = 0

    def add(self, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH or value is None or isinstance(value, bool):
            return
        if isinstance(value, str):
            self._add_text(value)
        elif isinstance(value, bytes | bytearray | memoryview):
            self.blobs += 1
        elif isinstance(value, int | float):
            self.count += len(str(value))
        elif isinstance(value, Mapping):
            self._add_mapping(value, depth)
        elif isinstance(value, Sequence | set | frozenset):
            for item in value:
                self.add(item, depth + 1)
        elif not callable(value):
            self._add_mapping(_fields(value), depth)

    def _add_text(self, text: str) -> None:
        if text.startswith("data:") and ";base64," in text[:128]:
            self.blobs += 1
        else:
            self.count += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))

    def _add_mapping(self, mapping: Mapping[Any, Any], depth: int) -> None:
        for key, item in mapping.items():
            if key not in _NOT_SENT:
                self.add(item, depth + 1)


def _fields(value: Any) -> dict[str, Any]:
    """Return the public attributes that an object holds, in its dictionary or in slots."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    found = {name: getattr(value, name, None) for name in slots}
    found.update(getattr(value, "__dict__", {}))
    return {name: item for name, item in found.items() if not name.startswith("_")}


def _slots(kind: type) -> Sequence[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
