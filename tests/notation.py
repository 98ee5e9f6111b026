"""Transcripts as short as one can write them: `[U("hi"), C("a"), T("a", tokens=500), A("ok")]`.

One token is four characters here, so that a test can say how large something is.
"""

from __future__ import annotations

from typing import Any

from lovia.tokens import as_counter
from lovia.transcript import (
    AssistantTextEntry,
    ContentPart,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
)


def quarter(text: str) -> int:
    """Count one token for each four characters."""
    return (len(text) + 3) // 4


COUNTER = as_counter(quarter, over="text")


def words(tokens: int, seed: str = "word") -> str:
    """Return plain text of about so many tokens; texts of different seeds differ throughout."""
    unit = f"{seed} "
    return (unit * (tokens * 4 // len(unit) + 1))[: max(tokens * 4, 1)]


def S(text: str = "You are careful.") -> InputEntry:  # noqa: N802 - the notation's letter
    """Return a system message."""
    return InputEntry("system", text)


def U(text: str = "go on", *, tokens: int | None = None, parts: Any = None) -> InputEntry:  # noqa: N802
    """Return a user message."""
    if parts is not None:
        return InputEntry("user", parts)
    return InputEntry("user", text if tokens is None else words(tokens, text))


def A(text: str = "done", *, tokens: int | None = None) -> AssistantTextEntry:  # noqa: N802
    """Return an answer of the model."""
    return AssistantTextEntry(text if tokens is None else words(tokens, text))


def R(text: str = "hm", *, signature: str | None = None, id: str | None = None) -> ReasoningEntry:  # noqa: N802
    """Return a thought."""
    return ReasoningEntry(text, id=id, signature=signature)


def C(call_id: str, name: str = "search", arguments: str = '{"q": 1}') -> ToolCallEntry:  # noqa: N802
    """Return a call."""
    return ToolCallEntry(call_id, name, arguments)


def T(  # noqa: N802
    call_id: str,
    text: str = "found it",
    *,
    tokens: int | None = None,
    parts: tuple[ContentPart, ...] = (),
) -> ToolResultEntry:
    """Return a result."""
    output = text if tokens is None else words(tokens, text)
    return ToolResultEntry(call_id, output, parts=parts)
