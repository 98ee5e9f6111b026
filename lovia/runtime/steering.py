"""Messages into a running agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from lovia.transcript.entries import FilePart, ImagePart, InputEntry, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript.entries import ContentPart

__all__ = ["InjectedContent", "Mailbox", "injected_entry"]

#: A message for the running agent: text, one part, or several.
InjectedContent: TypeAlias = "str | ContentPart | Sequence[ContentPart]"


class Mailbox:
    """Holds messages that a run takes up at the start of its next turn, in the order of arrival.

    What a ``TurnStarted`` hook pushes is seen in that same turn. Messages that the run did not come
    to are still here when it has ended.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, InjectedContent] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, content: InjectedContent) -> int:
        """Leave a message and return a token by which :meth:`remove` takes it back."""
        self._last += 1
        self._waiting[self._last] = content
        return self._last

    def remove(self, token: int) -> bool:
        """Take a message back; tells whether it was still waiting."""
        return self._waiting.pop(token, None) is not None

    def drain(self) -> list[InjectedContent]:
        """Return all waiting messages, oldest first, and forget them."""
        waiting, self._waiting = self._waiting, {}
        return list(waiting.values())


def injected_entry(content: InjectedContent) -> InputEntry:
    """Return a message for the running agent as the transcript keeps it."""
    single = isinstance(content, (TextPart, ImagePart, FilePart))
    return InputEntry("user", [content] if single else content)  # type: ignore[arg-type,list-item] # by the test
