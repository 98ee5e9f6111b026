"""The tool by which the model gets back what compaction took out of its view.

What it answers comes from the transcript, which nothing ever edits, and from the archive; only from
this conversation, and only a page at a time, so that an answer cannot overflow the request that
compaction has just made small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from lovia.context.document import Document, Piece
from lovia.context.markers import preview_of
from lovia.errors import LoviaError
from lovia.tools.definition import Tool
from lovia.transcript.entries import ToolCallEntry, ToolResultEntry, TranscriptEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lovia.context.archive import CompactionArchive

__all__ = [
    "RECALL_TOOL_NAME",
    "RecallRequest",
    "RecallSource",
    "chars_for",
    "recall",
    "recall_tool",
]

#: The tool's name, by which compaction recognises calls that only repeat what was said before.
RECALL_TOOL_NAME: Final = "recall_context"

#: Characters of one answer when the model does not say how many it wants.
DEFAULT_CHARS: Final = 4_000

#: Characters of one answer at most; below what the tool-result budget would archive again.
MOST_CHARS: Final = 16_000

_LEAST_CHARS: Final = 200  # of one answer, however small the window is
_HEADER_CHARS: Final = 1_000  # beside the page itself
_LARGEST: Final = 10**12  # number that a model can mean
_SHOWN_CHARS: Final = 80  # of an id or a text that the model wrote
_SHOWN_IDS: Final = 20


@dataclass(frozen=True, slots=True)
class RecallSource:
    """What can be recalled in one conversation.

    Attributes:
        entries: The transcript.
        archive: Where removed content is kept, or ``None``.
        session_id: The conversation; references to others are refused.
        run_id: The run, where there is no conversation.
    """

    entries: Sequence[TranscriptEntry]
    archive: CompactionArchive | None = None
    session_id: str | None = None
    run_id: str | None = None


class _CannotRecallError(Exception):
    """Says to the model why there is nothing to show, and what it can do."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What the model asks for; a call goes before a reference, and that before a range of entries.

    With none of these the whole conversation is meant.

    Attributes:
        call_id: The call whose result is wanted.
        occurrence: Which result, from 1, where an id was used several times; the latest by default.
        reference: The address of something archived.
        first: Number of the first entry wanted, from 0.
        last: Number of the last entry wanted.
        offset: Characters of the selected text to leave out.
        limit: Characters wanted.
        search: Show only the places where this text occurs, in whatever letter case.
    """

    call_id: str | None = None
    occurrence: int | None = None
    reference: str | None = None
    first: int | None = None
    last: int | None = None
    offset: int = 0
    limit: int = DEFAULT_CHARS
    search: str | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> RecallRequest:
        """Read a model's arguments: numbers may come as text, and empty values count as absent."""
        return cls(
            call_id=_text(arguments, "call_id"),
            occurrence=_number(arguments, "occurrence") or None,
            reference=_text(arguments, "reference"),
            first=_number(arguments, "first"),
            last=_number(arguments, "last"),
            offset=_number(arguments, "offset") or 0,
            limit=_number(arguments, "limit") or DEFAULT_CHARS,
            search=_text(arguments, "search"),
        )


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _CannotRecallError(f"{name} must be a text.")
    return value


def _number(arguments: Mapping[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number <= _LARGEST or isinstance(value, bool):
        raise _CannotRecallError(f"{name} must be a whole number, zero or more.")
    return number


async def recall(
    arguments: Mapping[str, Any], source: RecallSource, *, most_chars: int = MOST_CHARS
) -> str:
    """Answer a model's request for removed content.

    Args:
        arguments: As in the fields of :class:`RecallRequest`; anything that a model may write.
        source: What can be recalled.
        most_chars: Characters of one answer at most, its header not counted.

    Returns:
        A line that says what is shown, of how much, and how to go on; then the text. When there is
        nothing to show, a line that says why. Never raises for what the model wrote.
    """
    try:
        request = RecallRequest.of(arguments)
        archived = await _archived(request, source)
        return await anyio.to_thread.run_sync(_answer, request, source, archived, most_chars)
    except _CannotRecallError as reason:
        return f"[nothing recalled: {reason}]"
    except (LoviaError, OSError) as error:
        what = error.message if isinstance(error, LoviaError) else str(error)
        return f"[nothing recalled: {preview_of(what, _HEADER_CHARS)}]"


def _answer(
    request: RecallRequest, source: RecallSource, archived: Document | None, most_chars: int
) -> str:
    """Write out one page; in a thread, as there may be megabytes to look through."""
    document = _from_transcript(request, source.entries) if archived is None else archived
    limit = min(request.limit, most_chars)
    what = document.title
    if request.search is None:
        found = document.page(request.offset, limit)
    else:
        found = document.search(request.search, offset=request.offset, limit=limit)
        what = f"places with {preview_of(request.search, _SHOWN_CHARS)!r} in {what}"
    if not found.text:
        return f"[recalled: {what}; nothing from offset {request.offset:,} on of {document.size:,}]"
    more = f"; to go on, offset={found.end}" if found.end < document.size else ""
    where = f"characters {request.offset:,} to {found.end:,} of {document.size:,}"
    return f"[recalled: {what}; {where}{more}]\n{found.text}"


def _from_transcript(request: RecallRequest, entries: Sequence[TranscriptEntry]) -> Document:
    if request.call_id is not None:
        return _result_of(request.call_id, request.occurrence, entries)
    if request.first is not None or request.last is not None:
        return _range(request.first, request.last, entries)
    return _conversation(entries)


async def _archived(request: RecallRequest, source: RecallSource) -> Document | None:
    """Load what a reference names if this conversation archived it; refuse whatever else."""
    reference = request.reference
    if reference is None or request.call_id is not None:
        return None
    owns = getattr(source.archive, "owns", None)
    if source.archive is None or owns is None:
        raise _CannotRecallError("there is no archive to read from; use call_id or first/last.")
    if not owns(reference, session_id=source.session_id, run_id=source.run_id):
        shown = preview_of(reference, _SHOWN_CHARS)
        raise _CannotRecallError(f"{shown!r} is no reference of this conversation's archive.")
    content = await source.archive.load(reference)
    title = f"archived {preview_of(reference, 3 * _SHOWN_CHARS)}"
    if isinstance(content, str):
        return Document(title, [Piece(content)])
    return Document(title, [_piece(f"archived entry {n}", e) for n, e in enumerate(content)])


def _result_of(
    call_id: str, occurrence: int | None, entries: Sequence[TranscriptEntry]
) -> Document:
    """Find the result of a call; of several calls with one id the latest, unless one is named."""
    found = [
        (number, entry)
        for number, entry in enumerate(entries)
        if isinstance(entry, ToolResultEntry) and entry.call_id == call_id
    ]
    shown = preview_of(call_id, _SHOWN_CHARS)
    if not found:
        raise _CannotRecallError(_unknown_call(call_id, shown, entries))
    which = len(found) if occurrence is None else occurrence
    if not 1 <= which <= len(found):
        raise _CannotRecallError(f"occurrence must be 1 to {len(found)} for call_id {shown!r}.")
    number, entry = found[which - 1]
    several = f", occurrence {which} of {len(found)}" if len(found) > 1 else ""
    failed = "error" if entry.is_error else "result"
    title = f"{failed} of call_id {shown!r}{several}, entry {number}"
    return Document(title, [Piece(text_of(entry))])


def _unknown_call(call_id: str, shown: str, entries: Sequence[TranscriptEntry]) -> str:
    if any(isinstance(entry, ToolCallEntry) and entry.call_id == call_id for entry in entries):
        return f"no result was recorded for call_id {shown!r}."
    known = [entry.call_id for entry in entries if isinstance(entry, ToolResultEntry)]
    latest = list(dict.fromkeys(reversed(known)))[:_SHOWN_IDS]
    listed = ", ".join(repr(preview_of(known_id, _SHOWN_CHARS)) for known_id in latest)
    listed = preview_of(listed, _HEADER_CHARS) or "none"
    return f"no call has the id {shown!r}. Latest ids with a result: {listed}. Or use search."


def _range(first: int | None, last: int | None, entries: Sequence[TranscriptEntry]) -> Document:
    start = first or 0
    stop = len(entries) - 1 if last is None else min(last, len(entries) - 1)
    if start > stop:
        message = f"this conversation has entries 0 to {len(entries) - 1}; first comes before last."
        raise _CannotRecallError(message if entries else "this conversation has no entries yet.")
    pieces = [_piece(f"entry {n}", entries[n]) for n in range(start, stop + 1)]
    return Document(f"entries {start} to {stop}", pieces)


def _conversation(entries: Sequence[TranscriptEntry]) -> Document:
    """Return the whole transcript but for earlier recalls, which only repeat it."""
    recalls = {
        entry.call_id
        for entry in entries
        if isinstance(entry, ToolCallEntry) and entry.name == RECALL_TOOL_NAME
    }
    pieces = [
        _piece(f"entry {number}", entry)
        for number, entry in enumerate(entries)
        if getattr(entry, "call_id", None) not in recalls
    ]
    return Document("the whole conversation", pieces)


def _piece(label: str, entry: TranscriptEntry) -> Piece:
    what = entry.role if entry.type == "input" else entry.type.replace("_", " ")
    call_id = getattr(entry, "call_id", None)
    if call_id is not None:
        what += f", call_id {preview_of(call_id, _SHOWN_CHARS)!r}"
    return Piece(text_of(entry), f"{label}: {what}")


def chars_for(window: int | None) -> int:
    """Return the characters of one answer at most for a context window of so many tokens.

    Where a token is a single character, an answer takes a quarter of the window.
    """
    return MOST_CHARS if window is None else max(min(MOST_CHARS, window // 4), _LEAST_CHARS)


def recall_tool(
    archive: CompactionArchive | None = None, *, most_chars: int | Callable[[], int] = MOST_CHARS
) -> Tool:
    """Return the tool that gives a model removed content of its own conversation back.

    Args:
        archive: Where references are looked up; the transcript comes from the run.
        most_chars: Characters of one answer at most; a function is asked with each call.
    """
    bound = MOST_CHARS if callable(most_chars) else most_chars

    async def invoke(args: dict[str, Any], ctx: Any) -> str:
        source = RecallSource(tuple(ctx.entries), archive, ctx.session_id, ctx.run_id)
        most = most_chars() if callable(most_chars) else most_chars
        return await recall(args, source, most_chars=most)

    return Tool(
        name=RECALL_TOOL_NAME,
        description=_DESCRIPTION,
        parameters=_parameters(bound),
        invoke=invoke,
        max_output_chars=bound + 2 * _HEADER_CHARS,
    )


_DESCRIPTION: Final = (
    "Read the original text of earlier parts of this conversation that were shortened, cleared or "
    "summarised to save space. Name a tool call by call_id, an archived file by reference, or a "
    "range of entries by first and last; with none of these, the whole conversation is meant. "
    "Use search to find a place, then offset and limit to read on from it."
)


def _parameters(most_chars: int) -> dict[str, Any]:
    def number(description: str, **more: Any) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "description": description, **more}

    def text(description: str) -> dict[str, Any]:
        return {"type": "string", "description": description}

    return {
        "type": "object",
        "properties": {
            "call_id": text("Id of the tool call whose result is wanted."),
            "occurrence": number("Which of several results with that id, from 1.", minimum=1),
            "reference": text("Where something is archived, as its marker says."),
            "first": number("Number of the first entry wanted, from 0."),
            "last": number("Number of the last entry wanted."),
            "offset": number("Characters of the selected text to leave out."),
            "limit": number(f"Characters wanted, {most_chars} at most.", default=DEFAULT_CHARS),
            "search": text("Show only the places where this text occurs; letter case is ignored."),
        },
        "additionalProperties": False,
    }
