"""Understands the events of a Responses answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.providers.failures import cut_stream, reported_failure
from lovia.providers.fields import items_in, object_in, text_in
from lovia.providers.finish import finish_reason
from lovia.providers.openai.usage import responses_usage
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lovia.errors import ProviderError
    from lovia.providers.wire.names import ToolNames

__all__ = ["ResponsesReader"]

_BETWEEN_PARTS: Final = "\n\n"  # of a summary of thoughts


class ResponsesReader:
    """Turns the events of one answer into deltas.

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
        self._slots: dict[Any, int] = {}
        self._refused = False
        self._finish: str | None = None

    def feed(self, event: Mapping[str, Any]) -> Iterator[ModelDelta]:
        """Return what the next event says.

        Raises:
            ProviderError: It reports that the answer failed.
        """
        match event.get("type"):
            case "response.output_item.done":
                yield from map(EntryCompletedDelta, self._entries(object_in(event, "item")))
            case "response.completed" | "response.incomplete":
                yield from self._ended(object_in(event, "response"))
            case "response.failed":
                response = object_in(event, "response")
                yield from self._ended(response)
                raise self._failure(object_in(response, "error"))
            case "error":
                raise self._failure(object_in(event, "error") or event)
            case kind:
                yield from self._piece(kind, event)

    def end(self) -> Iterator[ModelDelta]:
        """Return why the answer ended."""
        if self._finish is None:
            raise cut_stream(self._vendor, self._model)
        calls = bool(self._slots)
        yield FinishDelta(finish_reason(self._finish, calls=calls, refused=self._refused))

    def _piece(self, kind: Any, event: Mapping[str, Any]) -> Iterator[ModelDelta]:
        delta = text_in(event, "delta")
        match kind:
            case "response.output_text.delta":
                yield TextDelta(delta)
            case "response.refusal.delta":
                self._refused = True
                yield TextDelta(delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield ReasoningDelta(delta)
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield ReasoningDelta(_BETWEEN_PARTS)
            case "response.output_item.added":
                item = object_in(event, "item")
                if item.get("type") == "function_call":
                    name = self._names.own(text_in(item, "name"))
                    call_id = text_in(item, "call_id")
                    yield ToolCallDelta(self._slot(event), call_id=call_id, name=name)
            case "response.function_call_arguments.delta":
                yield ToolCallDelta(self._slot(event), arguments=delta)

    def _slot(self, event: Mapping[str, Any]) -> int:
        """Return the position of an event's call among the answer's calls."""
        return self._slots.setdefault(event.get("output_index"), len(self._slots))

    def _ended(self, response: Mapping[str, Any]) -> Iterator[ModelDelta]:
        if usage := object_in(response, "usage"):
            yield UsageDelta(responses_usage(usage))
        details = object_in(response, "incomplete_details")
        self._finish = text_in(details, "reason") or "completed"

    def _entries(self, item: Mapping[str, Any]) -> Iterator[TranscriptEntry]:
        match item.get("type"):
            case "message":
                for part in items_in(item, "content"):
                    if text := text_in(part, "text") or text_in(part, "refusal"):
                        yield AssistantTextEntry(text, id=text_in(item, "id") or None)
            case "reasoning":
                yield self._reasoning(item)
            case "function_call":
                name = self._names.own(text_in(item, "name"))
                yield ToolCallEntry(text_in(item, "call_id"), name, text_in(item, "arguments"))

    def _reasoning(self, item: Mapping[str, Any]) -> ReasoningEntry:
        parts = items_in(item, "summary") or items_in(item, "content")
        return ReasoningEntry(
            _BETWEEN_PARTS.join(text_in(part, "text") for part in parts),
            id=text_in(item, "id") or None,
            provider=self._origin,
            signature=text_in(item, "encrypted_content") or None,
        )

    def _failure(self, error: Mapping[str, Any]) -> ProviderError:
        message = text_in(error, "message") or "The answer failed, and nobody says why."
        return reported_failure(message, vendor=self._vendor, model=self._model, body=dict(error))
