"""What a transcript is made of, in figures: kinds, sizes, batches and tools."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia.transcript.entries import (
    ContentPart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.pairing import Pairing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ResultSize", "TranscriptFacts", "characters", "summarize_transcript"]


@dataclass(frozen=True, slots=True)
class ResultSize:
    """The size of one tool result.

    Attributes:
        index: Position of the result in the transcript, counted from 0.
        tool: The name of the tool that was called, or ``None`` when no call is known.
        characters: Its size.
    """

    index: int
    tool: str | None
    characters: int


@dataclass(frozen=True, slots=True)
class TranscriptFacts:
    """A transcript in figures.

    Attributes:
        entries: How many entries of each type there are, by the ``type`` of the entries.
        characters: How many characters these have, by type.
        images: Images, in messages and in results.
        files: Files, likewise.
        calls: How often each tool was called, by name, the most frequent first.
        batches: Steps of the model with at least one call.
        most_parallel_calls: Calls in the largest batch.
        largest_results: The largest tool results, the largest first.
    """

    entries: Mapping[str, int]
    characters: Mapping[str, int]
    images: int
    files: int
    calls: Mapping[str, int]
    batches: int
    most_parallel_calls: int
    largest_results: tuple[ResultSize, ...]


def summarize_transcript(
    entries: Sequence[TranscriptEntry], *, largest: int = 10
) -> TranscriptFacts:
    """Count what a transcript is made of.

    Args:
        entries: The transcript.
        largest: How many of the largest results to list.
    """
    pairing = Pairing(entries)
    kinds: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    parallel: Counter[int] = Counter()
    results: list[ResultSize] = []
    for index, entry in enumerate(entries):
        size = characters(entry)
        kinds[entry.type] += 1
        sizes[entry.type] += size
        if isinstance(entry, ToolCallEntry):
            tools[entry.name] += 1
            parallel[pairing.unit_of[index]] += 1
        elif isinstance(entry, ToolResultEntry):
            results.append(ResultSize(index, _tool(entries, pairing.partner[index]), size))
    parts = [part for entry in entries for part in _parts(entry)]
    images = sum(isinstance(part, ImagePart) for part in parts)
    texts = sum(isinstance(part, TextPart) for part in parts)
    return TranscriptFacts(
        entries=dict(kinds),
        characters=dict(sizes),
        images=images,
        files=len(parts) - images - texts,
        calls=dict(tools.most_common()),
        batches=len(parallel),
        most_parallel_calls=max(parallel.values(), default=0),
        largest_results=tuple(heapq.nlargest(largest, results, key=lambda r: r.characters)),
    )


def characters(entry: TranscriptEntry) -> int:
    """Return the size of an entry in characters: all its text, embedded base64 included."""
    match entry:
        case InputEntry(content=str() as text):
            return len(text)
        case InputEntry():
            return sum(map(_part_characters, _parts(entry)))
        case ToolCallEntry():
            return len(entry.name) + len(entry.arguments)
        case ToolResultEntry():
            return len(entry.output) + sum(map(_part_characters, entry.parts))
        case ReasoningEntry():
            return len(entry.content) + len(entry.signature or "")
        case _:
            return len(entry.content)


def _parts(entry: TranscriptEntry) -> tuple[ContentPart, ...]:
    if isinstance(entry, ToolResultEntry):
        return entry.parts
    if isinstance(entry, InputEntry) and not isinstance(entry.content, str):
        return entry.content
    return ()


def _part_characters(part: ContentPart) -> int:
    if isinstance(part, TextPart):
        return len(part.text)
    return len(part.data or part.url or "")


def _tool(entries: Sequence[TranscriptEntry], call: int) -> str | None:
    entry = entries[call] if call >= 0 else None
    return entry.name if isinstance(entry, ToolCallEntry) else None
