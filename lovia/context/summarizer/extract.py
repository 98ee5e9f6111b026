"""What is worth keeping of a span of entries, found without a model."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.identifiers import find_identifiers, searchable
from lovia.context.summarizer.splitting import clip_middle
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Extract", "extract", "merge"]

#: Characters that are looked at of one text, and kept of one item of each kind.
_READ: Final = 4_000
_GOAL: Final = 1_500
_REQUEST: Final = 600
_STATE: Final = 800
_LINE: Final = 240
_NAME: Final = 60
#: Items of each kind that are kept, the newest ones.
_MOST: Final = 40
_MOST_STATES: Final = 2

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")  # noqa: RUF001 - Chinese
_STEMS: Final = (
    *("decid", "chos", "choose", "agreed", "instead of", "rather than", "settled on", "will use"),
    *("'ll use", "must", "never", "always", "because"),
    *("决定", "选择", "选用", "采用", "改用", "不要", "必须"),
)
_DECISION: Final = re.compile(rf"(?<![a-z])(?:{'|'.join(_STEMS)})", re.IGNORECASE)
_ERROR_LINE: Final = re.compile(
    r"^(?:[\w.]*(?:Error|Exception)\b|error\b|fatal\b|failed\b|npm ERR!).*$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Extract:
    """The marked passages of a span, oldest first in each kind.

    Attributes:
        goal: The first thing that the user asked for.
        requests: What the user asked for after that.
        decisions: Sentences that look like decisions.
        state: What the assistant said last.
        errors: What went wrong.
        files: Paths that tools were called with.
        tools: How often each tool was called.
        earlier: A summary of what came before, by somebody else.
    """

    goal: str = ""
    requests: Sequence[str] = ()
    decisions: Sequence[str] = ()
    state: Sequence[str] = ()
    errors: Sequence[str] = ()
    files: Sequence[str] = ()
    tools: Mapping[str, int] = field(default_factory=dict)
    earlier: str = ""


def extract(entries: Sequence[TranscriptEntry]) -> Extract:
    """Mark what is worth keeping of a span.

    Each kind is looked for from the newest entry back, and no further than needed.
    """
    asked = [entry for entry in entries if _is_request(entry)]
    said = [entry for entry in entries if isinstance(entry, AssistantTextEntry) and entry.content]
    calls = [entry for entry in entries if isinstance(entry, ToolCallEntry)]
    talk = [entry for entry in entries if isinstance(entry, (InputEntry, AssistantTextEntry))]
    results = [entry for entry in entries if isinstance(entry, ToolResultEntry)]
    return Extract(
        goal=_text(asked[0], _GOAL) if asked else "",
        requests=_newest([_text(entry, _REQUEST)] for entry in reversed(asked[1:])),
        decisions=_newest(_decisions(entry) for entry in reversed(talk)),
        state=[_text(entry, _STATE) for entry in said[-_MOST_STATES:]],
        errors=_newest(_errors(entry) for entry in reversed(results)),
        files=_newest(_files(entry) for entry in reversed(calls)),
        tools=Counter(_one_line(entry.name, _NAME) for entry in calls),
    )


def merge(old: Extract, new: Extract) -> Extract:
    """Return both as one; what is new follows, and the first goal stays the goal."""
    second_goal = [clip_middle(new.goal, _REQUEST)] if old.goal and new.goal else []
    return Extract(
        goal=old.goal or new.goal,
        requests=_newest([[*old.requests, *second_goal, *new.requests]]),
        decisions=_newest([[*old.decisions, *new.decisions]]),
        state=new.state or old.state,
        errors=_newest([[*old.errors, *new.errors]]),
        files=_newest([[*old.files, *new.files]]),
        tools=Counter(old.tools) + Counter(new.tools),
        earlier=old.earlier or new.earlier,
    )


def _newest(found: Iterable[Sequence[str]]) -> list[str]:
    """Return the newest distinct items, oldest first; they come in groups, newest group first."""
    newest = chain.from_iterable(reversed(group) for group in found)
    return list(islice(_unique(newest), _MOST))[::-1]


def _unique(items: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for item in items:
        if item and item not in seen:
            seen.add(item)
            yield item


def _is_request(entry: TranscriptEntry) -> bool:
    return (
        isinstance(entry, InputEntry)
        and entry.role == "user"
        and entry.origin == "conversation"
        and bool(entry.content)
    )


def _text(entry: TranscriptEntry, limit: int) -> str:
    return clip_middle(clean_text(text_of(entry)).strip(), limit)


def _one_line(text: str, limit: int) -> str:
    return clip_middle(" ".join(clean_text(text[:_READ]).split()), limit).replace("\n", " ")


def _decisions(entry: TranscriptEntry) -> list[str]:
    if isinstance(entry, InputEntry) and not _is_request(entry):
        return []
    text = clip_middle(text_of(entry), _READ)
    lowered = text.lower()
    if not any(stem in lowered for stem in _STEMS):  # ten times as fast as the expression
        return []
    sentences = _SENTENCE_END.split(text)
    return [_one_line(sentence, _LINE) for sentence in sentences if _DECISION.search(sentence)]


def _errors(entry: ToolResultEntry) -> list[str]:
    """Return the line that says what went wrong, if anything did."""
    head = text_of(entry)[:_READ]
    if not entry.is_error and not head.lstrip().startswith(("Traceback", "Error", "error:")):
        return []
    lines = _ERROR_LINE.findall(head) or head.strip().splitlines()[-1:]
    return [_one_line(line, _LINE) for line in lines[-1:] if line.strip()]


def _files(entry: ToolCallEntry) -> list[str]:
    found = find_identifiers(searchable(entry)[:_READ])
    return [text for text, kind in found if kind == "path"]
