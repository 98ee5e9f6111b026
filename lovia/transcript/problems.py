"""What is odd about a transcript: things that providers refuse, or that a recording got wrong.

Nothing here is an error. Real histories have all of it, and views are made so that providers accept
them all the same.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    is_system,
)
from lovia.transcript.facts import characters
from lovia.transcript.pairing import Pairing, leading_block
from lovia.transcript.text import clean_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Problem", "ProblemKind", "find_problems"]

ProblemKind: TypeAlias = Literal[
    "arguments_not_json",
    "empty_message",
    "late_system",
    "lone_surrogate",
    "open_call",
    "orphan_result",
    "repeated_call_id",
    "repeated_role",
    "split_step",
    "trailing_reasoning",
    "unanswered_call",
    "very_large",
]
VERY_LARGE: Final = 100_000  # characters; about a quarter of that in tokens
_QUOTED: Final = 60  # characters of an id or a name that a message repeats


@dataclass(frozen=True, slots=True)
class Problem:
    """One oddity.

    Attributes:
        index: Position of the entry in the transcript, counted from 0.
        kind: What is odd, as a fixed word.
        message: What is odd about this entry, in one sentence.
    """

    index: int
    kind: ProblemKind
    message: str


def find_problems(
    entries: Sequence[TranscriptEntry],
    *,
    messages: Sequence[int] | None = None,
    very_large: int = VERY_LARGE,
) -> list[Problem]:
    """List what is odd about a transcript, in the order of its entries.

    Args:
        entries: The transcript.
        messages: For each entry the number of the recorded message that it came from
            (:attr:`~lovia.transcript.formats.Recording.messages`). Without it, a step that was
            recorded as two messages shows only where the model's entries cannot be one message.
        very_large: From how many characters on an entry is reported as very large.
    """
    problems = [
        *_call_problems(entries),
        *_order_problems(entries, messages),
        *_content_problems(entries, very_large),
    ]
    return sorted(problems, key=lambda problem: problem.index)


def _call_problems(entries: Sequence[TranscriptEntry]) -> Iterator[Problem]:
    pairing = Pairing(entries)
    dead = pairing.dead_calls()
    seen: Counter[str] = Counter()
    for index, entry in enumerate(entries):
        if isinstance(entry, ToolResultEntry) and pairing.partner[index] < 0:
            text = f"A result for call {_quote(entry.call_id)}, which no call before it made."
            yield Problem(index, "orphan_result", text)
        if not isinstance(entry, ToolCallEntry):
            continue
        name = _quote(entry.name)
        if seen[entry.call_id]:
            text = f"A call of {name} with the id {_quote(entry.call_id)} of an earlier call."
            yield Problem(index, "repeated_call_id", text)
        seen[entry.call_id] += 1
        if index in dead:
            text = f"A call of {name} that was never answered; something else follows."
            yield Problem(index, "unanswered_call", text)
        elif pairing.partner[index] < 0:
            text = f"A call of {name} at the end that is still waiting for its result."
            yield Problem(index, "open_call", text)


def _order_problems(
    entries: Sequence[TranscriptEntry], messages: Sequence[int] | None
) -> Iterator[Problem]:
    leading = leading_block(entries)
    for index, entry in enumerate(entries):
        after = entries[index + 1] if index + 1 < len(entries) else None
        if index >= leading and is_system(entry):
            text = "A system or developer message in the middle of the conversation."
            yield Problem(index, "late_system", text)
        if isinstance(entry, ReasoningEntry) and not _is_made(after):
            text = "A thought after which the model neither said nor called anything."
            yield Problem(index, "trailing_reasoning", text)
        if after is None:
            continue
        if _is_user(entry) and _is_user(after):
            yield Problem(index + 1, "repeated_role", "A user message right after another one.")
        if _splits_step(entry, after, messages and messages[index : index + 2]):
            text = "The model goes on in another message: one step was recorded as two."
            yield Problem(index + 1, "split_step", text)


def _splits_step(
    entry: TranscriptEntry, after: TranscriptEntry, messages: Sequence[int] | None
) -> bool:
    """Tell whether two entries of the model, with nothing between them, are two messages."""
    if not (_is_made(entry) and _is_made(after)):
        return False
    if messages:
        return messages[0] != messages[1]
    # Within a message, texts and calls follow a thought, and calls follow texts.
    if isinstance(entry, ToolCallEntry):
        return not isinstance(after, ToolCallEntry)
    return isinstance(entry, AssistantTextEntry) and isinstance(after, AssistantTextEntry)


def _content_problems(entries: Sequence[TranscriptEntry], very_large: int) -> Iterator[Problem]:
    for index, entry in enumerate(entries):
        if _is_empty(entry):
            yield Problem(index, "empty_message", "A message with nothing in it.")
        if isinstance(entry, ToolCallEntry) and not _is_json(entry.arguments):
            text = f"A call of {_quote(entry.name)} whose arguments are not JSON."
            yield Problem(index, "arguments_not_json", text)
        if clean_entry(entry) is not entry:
            text = "Text with half of a surrogate pair, which does not encode as UTF-8."
            yield Problem(index, "lone_surrogate", text)
        size = characters(entry)
        if size >= very_large:
            yield Problem(index, "very_large", f"An entry of {size:,} characters.")


def _is_made(entry: TranscriptEntry | None) -> bool:
    return isinstance(entry, (AssistantTextEntry, ReasoningEntry, ToolCallEntry))


def _is_user(entry: TranscriptEntry) -> bool:
    return isinstance(entry, InputEntry) and entry.role == "user"


def _is_empty(entry: TranscriptEntry) -> bool:
    if isinstance(entry, ReasoningEntry):
        return not (entry.content or entry.signature or entry.metadata)
    return isinstance(entry, (InputEntry, AssistantTextEntry)) and not entry.content


def _is_json(arguments: str) -> bool:
    """Tell whether arguments parse; a call without any is common and means no arguments."""
    if not arguments:
        return True
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _quote(name: str) -> str:
    """Repeat an id or a name in ASCII, shortened: it may hold anything and be of any length."""
    return ascii(name if len(name) <= _QUOTED else name[:_QUOTED] + "...")
