"""Understands the events of a Messages answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.providers.anthropic.prefix import PREFIX
from lovia.providers.anthropic.request import REDACTED
from lovia.providers.failures import cut_stream, reported_failure
from lovia.providers.fields import count_in, object_in, text_in
from lovia.providers.finish import finish_reason
from lovia.transcript.deltas import (
    EntryCompletedDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from lovia.transcript.entries import (
    AssistantTextEntry,
    ReasoningEntry,
    ToolCallEntry,
    TranscriptEntry,
)
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lovia.providers.wire.names import ToolNames

__all__ = ["MessagesReader"]


@dataclass
class _Block:
    """A content block while it arrives."""

    start: dict[str, Any]
    slot: int
    pieces: list[str] = field(default_factory=list)
    signature: str = ""


class MessagesReader:
    """Turns the events of one answer into deltas.

    Args:
        vendor: The provider's name, for errors.
        model: The model that answers, for errors.
        origin: Whose thoughts these are.
        names: The names of the tools that were offered.
        prefix: The digest of the request, kept with each thought.
    """

    def __init__(
        self, vendor: str, model: str, *, origin: str, names: ToolNames, prefix: str
    ) -> None:
        self._vendor = vendor
        self._model = model
        self._origin = origin
        self._names = names
        self._prefix = prefix
        self._blocks: dict[Any, _Block] = {}
        self._calls = 0
        self._spent: dict[str, int] = {}
        self._thinking = 0
        self._reason: str | None = None
        self._ended = False

    def feed(self, event: Mapping[str, Any]) -> Iterator[ModelDelta]:
        """Return what the next event says.

        Raises:
            ProviderError: It reports that the answer failed.
        """
        index = event.get("index")
        block = self._blocks.get(index)
        match event.get("type"):
            case "message_start":
                yield self._usage(object_in(object_in(event, "message"), "usage"))
            case "content_block_start":
                yield from self._begun(index, object_in(event, "content_block"))
            case "content_block_delta" if block is not None:
                yield from self._piece(block, object_in(event, "delta"))
            case "content_block_stop" if block is not None:
                yield from map(EntryCompletedDelta, self._entry(block))
            case "message_delta":
                self._reason = text_in(object_in(event, "delta"), "stop_reason") or self._reason
                yield self._usage(object_in(event, "usage"))
            case "message_stop":
                self._ended = True
            case "error":
                message = text_in(object_in(event, "error"), "message") or str(event)
                raise reported_failure(
                    message, vendor=self._vendor, model=self._model, body=dict(event)
                )

    def end(self) -> Iterator[ModelDelta]:
        """Return why the answer ended."""
        if not self._ended:
            raise cut_stream(self._vendor, self._model)
        yield FinishDelta(finish_reason(self._reason, calls=self._calls > 0))

    def _begun(self, index: Any, start: dict[str, Any]) -> Iterator[ModelDelta]:
        block = self._blocks[index] = _Block(start, self._calls)
        match start.get("type"):
            case "tool_use":
                self._calls += 1
                name = self._names.own(text_in(start, "name"))
                yield ToolCallDelta(block.slot, call_id=text_in(start, "id"), name=name)
            case "text" | "thinking" as kind:
                yield from self._piece(block, {"type": f"{kind}_delta", kind: text_in(start, kind)})

    def _piece(self, block: _Block, delta: Mapping[str, Any]) -> Iterator[ModelDelta]:
        match delta.get("type"):
            case "text_delta" if text := text_in(delta, "text"):
                block.pieces.append(text)
                yield TextDelta(text)
            case "thinking_delta" if text := text_in(delta, "thinking"):
                block.pieces.append(text)
                yield ReasoningDelta(text)
            case "signature_delta":
                block.signature += text_in(delta, "signature")
            case "input_json_delta" if text := text_in(delta, "partial_json"):
                block.pieces.append(text)
                if block.start.get("type") == "tool_use":
                    yield ToolCallDelta(block.slot, arguments=text)

    def _entry(self, block: _Block) -> Iterator[TranscriptEntry]:
        start, text = block.start, "".join(block.pieces)
        match start.get("type"):
            case "text" if text:
                yield AssistantTextEntry(text)
            case "tool_use":
                arguments = text or json.dumps(object_in(start, "input"), ensure_ascii=False)
                name = self._names.own(text_in(start, "name"))
                yield ToolCallEntry(text_in(start, "id"), name, arguments)
            case "thinking":
                yield self._thought(text, block.signature or text_in(start, "signature"))
            case "redacted_thinking":
                yield self._thought("", text_in(start, "data"), type=REDACTED)

    def _thought(self, text: str, signature: str, **metadata: str) -> ReasoningEntry:
        return ReasoningEntry(
            text,
            provider=self._origin,
            signature=signature or None,
            metadata={PREFIX: self._prefix, **metadata},
        )

    def _usage(self, reported: Mapping[str, Any]) -> UsageDelta:
        """Return what was spent so far; the vendor counts cached tokens apart from the others."""
        self._spent |= {name: value for name, value in reported.items() if isinstance(value, int)}
        details = object_in(reported, "output_tokens_details")
        self._thinking = count_in(details, "thinking_tokens") or self._thinking
        read = count_in(self._spent, "cache_read_input_tokens")
        written = count_in(self._spent, "cache_creation_input_tokens")
        return UsageDelta(
            Usage(
                input_tokens=count_in(self._spent, "input_tokens") + read + written,
                output_tokens=count_in(self._spent, "output_tokens"),
                cache_read_tokens=read,
                cache_write_tokens=written,
                reasoning_tokens=self._thinking,
            )
        )
