"""Understands the chunks of a Chat Completions answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.providers.failures import cut_stream, reported_failure
from lovia.providers.fields import items_in, object_in, text_in
from lovia.providers.finish import finish_reason
from lovia.providers.openai.chat_request import CALL_EXTRAS, DETAILS, FIELD
from lovia.providers.openai.usage import chat_usage
from lovia.transcript.deltas import (
    EntryCompletedDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from lovia.transcript.entries import ReasoningEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lovia.errors import ProviderError
    from lovia.providers.wire.names import ToolNames

__all__ = ["ChatReader"]

# Where servers put what their models think.
_THOUGHTS: Final = ("reasoning_content", "reasoning")
# A server's words for an answer that broke off.
_BROKEN: Final = frozenset({"error", "abort", "insufficient_system_resource"})
# The fields of a reasoning block that arrive in pieces.
_PIECES: Final = ("text", "summary", "data")


class ChatReader:
    """Turns the chunks of one answer into deltas.

    Args:
        vendor: The provider's name, for errors.
        model: The model that answers, for errors.
        origin: Whose thoughts these are.
        names: The names of the tools that were offered.
    """

    def __init__(self, vendor: str, model: str, *, origin: str, names: ToolNames) -> None:
        self._vendor = vendor
        self._model = model
        self._origin = origin
        self._names = names
        self._finish: str | None = None
        self._refused = False
        self._thought: list[str] = []
        self._field: str | None = None
        self._details: list[dict[str, Any]] = []
        self._slots = _Slots()
        self._extras: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> Iterator[ModelDelta]:
        """Return what the next chunk says.

        Raises:
            ProviderError: It reports that the answer failed.
        """
        if event.get("error"):
            raise self._failure(event)
        usage = object_in(event, "usage")
        for choice in items_in(event, "choices"):
            usage = usage or object_in(choice, "usage")  # where Kimi reports it
            delta = object_in(choice, "delta")
            yield from self._spoken(delta)
            yield from self._called(items_in(delta, "tool_calls"))
            self._finish = text_in(choice, "finish_reason") or self._finish
        if usage:
            yield UsageDelta(chat_usage(usage))

    def end(self) -> Iterator[ModelDelta]:
        """Return the thought in the form in which it goes back, and why the answer ended."""
        if self._finish is None:
            raise cut_stream(self._vendor, self._model)
        if self._finish in _BROKEN:
            message = f"The answer broke off: {self._finish}."
            raise reported_failure(message, vendor=self._vendor, model=self._model)
        if self._thought or self._details or self._extras:
            yield EntryCompletedDelta(self._reasoning())
        calls = self._slots.count > 0
        yield FinishDelta(finish_reason(self._finish, calls=calls, refused=self._refused))

    def _spoken(self, delta: Mapping[str, Any]) -> Iterator[ModelDelta]:
        field = next((field for field in _THOUGHTS if text_in(delta, field)), None)
        if field is not None:
            self._field = field
            self._thought.append(delta[field])
            yield ReasoningDelta(delta[field])
        for block in items_in(delta, DETAILS):
            _join(self._details, block)
        for field in ("content", "refusal"):
            if text := text_in(delta, field):
                self._refused |= field == "refusal"
                yield TextDelta(text)

    def _called(self, pieces: Iterable[Mapping[str, Any]]) -> Iterator[ModelDelta]:
        for piece in pieces:
            function, call_id = object_in(piece, "function"), text_in(piece, "id")
            index = piece.get("index")
            slot = self._slots.of(index if isinstance(index, int) else None, call_id)
            if extra := object_in(piece, CALL_EXTRAS):
                self._extras[str(slot)] = extra
            name = text_in(function, "name")
            yield ToolCallDelta(
                slot,
                call_id=call_id or None,
                name=self._names.own(name) if name else None,
                arguments=text_in(function, "arguments"),
            )

    def _failure(self, event: Mapping[str, Any]) -> ProviderError:
        error = event["error"]
        message = text_in(error, "message") or str(error)
        return reported_failure(message, vendor=self._vendor, model=self._model, body=event)

    def _reasoning(self) -> ReasoningEntry:
        metadata = {FIELD: self._field, DETAILS: self._details, CALL_EXTRAS: self._extras}
        return ReasoningEntry(
            "".join(self._thought),
            provider=self._origin,
            metadata={key: value for key, value in metadata.items() if value},
        )


class _Slots:
    """Tells which call a piece belongs to.

    Pieces name their call by an index; servers that send whole calls may use one index for all of
    them, or none.
    """

    def __init__(self) -> None:
        self.count = 0
        self._slot_of: dict[int, int] = {}
        self._id_of: dict[int, str] = {}

    def of(self, index: int | None, call_id: str) -> int:
        """Return the position of a piece's call among the answer's calls."""
        key = index if index is not None else (-1 if not call_id else self.count)
        slot = self._slot_of.get(key)
        known = None if slot is None else self._id_of.get(slot)
        if slot is None or (call_id and known and call_id != known):
            if index is None and not call_id and self.count:
                return self.count - 1
            slot = self.count
            self.count += 1
            self._slot_of[key] = slot
        if call_id:
            self._id_of[slot] = call_id
        return slot


def _join(blocks: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Add a piece of a reasoning block: to the block that it continues, or as a new one."""
    last = blocks[-1] if blocks else None
    same = last is not None and all(last.get(k) == piece.get(k) for k in ("type", "index"))
    if last is None or not same:
        blocks.append(dict(piece))
        return
    for key, value in piece.items():
        if key in _PIECES and isinstance(value, str):
            last[key] = (last.get(key) or "") + value
        elif value is not None:
            last[key] = value
