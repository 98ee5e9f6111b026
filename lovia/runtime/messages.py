"""Short ways to write a transcript entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.transcript.entries import AssistantTextEntry, FilePart, ImagePart, InputEntry, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript.entries import ContentPart

__all__ = ["assistant", "system", "user"]


def user(content: str | ContentPart | Sequence[ContentPart]) -> InputEntry:
    """Return a user message: text, one part, or several."""
    if isinstance(content, (TextPart, ImagePart, FilePart)):
        content = [content]
    return InputEntry("user", content)


def system(text: str) -> InputEntry:
    """Return a system message."""
    return InputEntry("system", text)


def assistant(text: str) -> AssistantTextEntry:
    """Return a text as the model would have answered it."""
    return AssistantTextEntry(text)
