"""One model answer, assembled from the deltas in which it arrived."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    from lovia.usage import Usage

__all__ = ["ModelReply"]


@dataclass
class _Call:
    call_id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ModelReply:
    """Collects the deltas of one call into entries, usage and finish reason.

    Entries come out in the order reasoning, text, calls, unless the provider completed entries of
    its own: those keep their order, and pieces of a kind that was never completed are added.

    Attributes:
        usage: What the call reported, or ``None`` when the provider reports nothing.
        finish_reason: The provider's word for why it stopped, or ``None``.
    """

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.finish_reason: str | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._completed: list[TranscriptEntry] = []

    def feed(self, delta: ModelDelta) -> None:
        """Take in the next delta."""
        match delta:
            case TextDelta():
                self._text.append(delta.text)
            case ReasoningDelta():
                self._reasoning.append(delta.text)
            case ToolCallDelta():
                self._feed_call(delta)
            case EntryCompletedDelta():
                self._completed.append(delta.entry)
            case UsageDelta():
                self.usage = delta.usage
            case FinishDelta():
                self.finish_reason = delta.reason or self.finish_reason

    @property
    def text(self) -> str:
        """All text of the answer."""
        return "".join(e.content for e in self.entries() if isinstance(e, AssistantTextEntry))

    @property
    def calls(self) -> list[ToolCallEntry]:
        """The calls that the model asked for, in order."""
        return [entry for entry in self.entries() if isinstance(entry, ToolCallEntry)]

    def entries(self) -> list[TranscriptEntry]:
        """Return the answer as transcript entries (a new list)."""
        done = {type(entry) for entry in self._completed}
        entries: list[TranscriptEntry] = []
        if self._reasoning and ReasoningEntry not in done:
            entries.append(ReasoningEntry("".join(self._reasoning)))
        entries.extend(self._completed)
        if self._text and AssistantTextEntry not in done:
            entries.append(AssistantTextEntry("".join(self._text)))
        if ToolCallEntry not in done:
            entries.extend(self._assembled_calls())
        return entries

    def _feed_call(self, delta: ToolCallDelta) -> None:
        call = self._calls.setdefault(delta.index, _Call())
        call.call_id = delta.call_id or call.call_id
        call.name = delta.name or call.name
        call.arguments.append(delta.arguments)

    def _assembled_calls(self) -> list[TranscriptEntry]:
        return [
            ToolCallEntry(
                call_id=call.call_id if call.call_id is not None else f"call_{index}",
                name=call.name,
                arguments="".join(call.arguments),
            )
            for index, call in sorted(self._calls.items())
        ]
