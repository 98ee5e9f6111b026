"""Messages of any class have a size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from lovia_otel.foreign.sizes import BLOB_TOKENS, MESSAGE_TOKENS, size_from_bytes


@dataclass
class _Message:
    content: Any
    id: str = "x" * 400
    response_metadata: dict[str, str] = field(default_factory=lambda: {"a": "b" * 400})


class _Slotted:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


TEXT = "twelve chars" * 10


@pytest.mark.parametrize(
    "message",
    [
        TEXT,
        {"role": "", "content": TEXT},
        {"content": [{"text": TEXT}]},
        _Message(TEXT),
        _Slotted(TEXT),
        [[TEXT]],
    ],
    ids=["text", "mapping", "parts", "dataclass", "slots", "nested"],
)
def test_texts_count_wherever_they_are(message: Any) -> None:
    """A message's size is that of its texts; what is kept beside it and not sent is left out."""
    size = size_from_bytes([message])
    assert size.tokens == len(TEXT) // 4 + MESSAGE_TOKENS
    assert (size.entries, size.source) == (1, "bytes")


def test_bytes_are_utf_8_bytes() -> None:
    """Texts in other scripts count their bytes, lone surrogates included."""
    assert size_from_bytes(["汉字" * 20]).tokens == 120 // 4 + MESSAGE_TOKENS
    assert size_from_bytes(["\ud800" * 4]).tokens == 1 + MESSAGE_TOKENS


@pytest.mark.parametrize("blob", [b"x" * 10_000, "data:image/png;base64," + "A" * 10_000])
def test_a_blob_counts_as_one(blob: Any) -> None:
    """Images and files count a flat number, not their length."""
    assert size_from_bytes([{"image": blob}]).tokens == BLOB_TOKENS + MESSAGE_TOKENS


def test_a_message_that_holds_itself_has_a_size() -> None:
    """Cycles end at a depth."""
    message: dict[str, Any] = {"content": TEXT}
    message["self"] = message
    assert (size_from_bytes([message]).tokens or 0) > 0
