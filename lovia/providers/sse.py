"""Reads the events of a streamed answer.

The SDKs can do that as well, but leave their generators to the garbage collector when an answer is
not read to its end, and give objects for which a server has to keep to the vendor's schema. Here
what was opened is closed in order, on any event loop, and an event is the JSON that came.
"""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

__all__ = ["EventDecoder", "json_events"]

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_DONE: Final = "[DONE]"
# Seconds that the rest of a body is waited for, so that its connection can be used again.
_DRAIN: Final = 0.1


class EventDecoder:
    """Decodes server-sent events from bytes that arrive in pieces (WHATWG HTML, section 9.2)."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of each event that is complete with this piece."""
        text = self._rest + self._decode(chunk)
        # A final CR may be the first half of a line end.
        end = len(text) - 1 if text.endswith("\r") else len(text)
        lines = _LINE_END.split(text[:end])
        self._rest = lines.pop() + text[end:]
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[str]:
        """Yield what is left when the stream has ended without a last blank line."""
        yield from self._line(self._rest)
        yield from self._line("")

    def _line(self, line: str) -> Iterator[str]:
        if not line:
            if self._data:
                yield "\n".join(self._data)
            self._data = []
            return
        field, _, value = line.partition(":")
        if field.lstrip("\ufeff") == "data":
            self._data.append(value.removeprefix(" "))


async def json_events(response: Any) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the events of a response, each the JSON object that is its data.

    Args:
        response: An HTTP response of the SDK, opened and not read.

    Raises:
        ValueError: An event is no JSON object.
    """
    decoder = EventDecoder()
    chunks = response.aiter_bytes()
    try:
        async for chunk in chunks:
            for data in decoder.feed(chunk):
                if data == _DONE:
                    with anyio.move_on_after(_DRAIN):
                        async for _ in chunks:
                            pass
                    return
                yield _object(data)
        for data in decoder.end():
            if data != _DONE:
                yield _object(data)
    finally:
        await _let_go(response, chunks)


async def _let_go(response: Any, chunks: AsyncGenerator[bytes, None]) -> None:
    """Close a response that may not have been read to its end.

    The HTTP library's own generators hang behind each other, and closing the first does not reach
    the last. When what they read from is closed, reading on ends them all.
    """
    await response.aclose()
    with suppress(Exception):
        async for _ in chunks:
            pass


def _object(data: str) -> dict[str, Any]:
    value = json.loads(data)
    if not isinstance(value, dict):
        raise json.JSONDecodeError("the event is no JSON object", data, 0)
    return value
