"""Compaction that somebody asks for while a run goes on."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from lovia.events import ContextCompacted

__all__ = ["CompactionDesk", "CompactionTicket"]


class CompactionTicket:
    """A compaction that was asked for; await it to get the event that tells of it.

    Awaiting raises what the compaction failed with, such as ``SummaryRejected``; the run goes on
    without. It returns ``None`` when there was nothing to compact, or the run ended before its next
    model call. It cannot be awaited inside the loop that reads the run's events, since the run goes
    on only when that loop asks for the next one; watch for ``ContextCompacted`` there.

    Attributes:
        focus: What the summary should dwell on, or ``None``.
    """

    def __init__(self, focus: str | None, is_reader: Callable[[], bool]) -> None:
        self.focus = focus
        self._is_reader = is_reader
        self._done = anyio.Event()
        self._event: ContextCompacted | None = None
        self._error: BaseException | None = None

    def settle(
        self, event: ContextCompacted | None = None, error: BaseException | None = None
    ) -> None:
        """Say how it ended; the first word counts."""
        if not self._done.is_set():
            self._event, self._error = event, error
            self._done.set()

    def __await__(self) -> Generator[Any, Any, ContextCompacted | None]:
        return self._wait().__await__()

    async def _wait(self) -> ContextCompacted | None:
        if not self._done.is_set() and self._is_reader():
            message = "A compaction cannot be awaited by the loop that reads the run's events."
            raise UserError(message, hint="Watch for ContextCompacted in the loop.")
        await self._done.wait()
        if self._error is not None:
            raise self._error
        return self._event


class CompactionDesk:
    """Takes requests for compaction until the run has ended."""

    def __init__(self) -> None:
        self._waiting: deque[CompactionTicket] = deque()
        self._closed = False

    def put(self, ticket: CompactionTicket) -> None:
        """Leave a request for the next model call."""
        if self._closed:
            ticket.settle()
        else:
            self._waiting.append(ticket)

    def take(self) -> CompactionTicket | None:
        """Return the oldest request, or ``None``."""
        return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """Settle what no model call came to."""
        self._closed = True
        for ticket in self._waiting:
            ticket.settle()
