"""How much fits into the next request of a fold, and how refusals for size make it less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.protocol import RequestTooLarge
from lovia.errors import ContextOverflowError

if TYPE_CHECKING:
    from lovia.context.summarizer.reader import Reader

__all__ = ["Space"]

#: A request with less room than this many tokens says nothing useful.
_MIN_ROOM: Final = 24
#: A prior summary has to leave this share of the room that there is without it.
_MIN_SHARE: Final = 0.25
#: Refusals for size that one fold takes before it gives up; each makes the next request smaller.
_MAX_REFUSALS: Final = 12
#: What is taken off beyond the excess when a request turned out too large before it was sent.
_MARGIN: Final = 0.05


class Space:
    """The room of a fold's requests, as far as anyone knows it.

    Attributes:
        reported_window: The window in tokens that a provider named when it refused, or ``None``.
    """

    def __init__(self, reader: Reader) -> None:
        self.reported_window: int | None = None
        self._reader = reader
        self._limit: int | None = None  # tokens of prior summary and entries together
        self._refusals = 0
        self._room_before: int | None = None  # as the summarizer said it last

    def beside(self, prior: str | None) -> int | None:
        """Return the tokens of entries that fit beside ``prior``; ``None`` without a limit.

        Raises:
            ContextOverflowError: There is no room worth a request.
        """
        room = self._room(prior)
        if room is not None and room < _MIN_ROOM:
            message = f"A summary request leaves no room for the conversation ({room} tokens)."
            hint = "Give the summarizer a model with a larger context window."
            raise ContextOverflowError(message, hint=hint)
        return room

    def is_crowded_by(self, prior: str | None) -> bool:
        """Tell whether ``prior`` leaves too little room, so that it has to become smaller first."""
        room = self._room(prior) if prior else None
        alone = self._room(None)
        if room is None or alone is None:
            return False
        return room < max(alone * _MIN_SHARE, _MIN_ROOM)

    def shrink(self, refusal: ContextOverflowError, tokens: int, prior: str | None) -> None:
        """Allow less after a request with so many tokens of entries was refused.

        Where the summarizer learned its window from the refusal, its own room says what is less:
        perhaps it was the reserve for the answer that was too large. Otherwise it is half.

        Raises:
            ContextOverflowError: The refusal itself, when there were too many.
        """
        self._refusals += 1
        self.reported_window = refusal.reported_window or self.reported_window
        if self._refusals > _MAX_REFUSALS:
            raise refusal
        sent = tokens + self._reader.counter.text(prior or "")
        if isinstance(refusal, RequestTooLarge):
            allowed = int((sent - refusal.excess) * (1 - _MARGIN))
        elif refusal.reported_window and self._reader.room(prior) != self._room_before:
            return
        else:
            allowed = sent // 2
        self._limit = max(min(allowed, self._limit or allowed), _MIN_ROOM)

    def _room(self, prior: str | None) -> int | None:
        room = self._room_before = self._reader.room(prior)
        if self._limit is None:
            return room
        left = self._limit - self._reader.counter.text(prior or "")
        return left if room is None else min(room, left)
