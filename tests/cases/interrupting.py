"""Looking at, and cancelling, a coroutine at each place where it waits."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

_T = TypeVar("_T")


class Watched(Generic[_T]):
    """Awaits a coroutine and tells each time that it waits for the event loop, counting from 1.

    It works on any event loop: what the coroutine hands to the loop is passed on unread.
    """

    def __init__(self, work: Coroutine[Any, Any, _T], on_wait: Callable[[int], None]) -> None:
        self._work = work
        self._on_wait = on_wait

    def __await__(self) -> Generator[Any, Any, _T]:
        step: Callable[[Any], Any] = self._work.send
        given: Any = None
        for count in itertools.count(1):
            try:
                wanted = step(given)
            except StopIteration as end:
                result: _T = end.value
                return result
            self._on_wait(count)
            try:
                step, given = self._work.send, (yield wanted)
            except BaseException as error:  # noqa: BLE001 - thrown into the coroutine instead
                step, given = self._work.throw, error
        raise AssertionError("unreachable")


async def waits_of(work: Coroutine[Any, Any, object]) -> int:
    """Run a coroutine to its end and return how often it waited."""
    waits: list[int] = []
    await Watched(work, waits.append)
    return len(waits)


async def cancelled_at(wait: int, work: Coroutine[Any, Any, object]) -> bool:
    """Run a coroutine and cancel the scope around it when it waits for that time.

    Returns:
        Whether the cancellation ended it; a coroutine may have finished before it noticed.
    """
    ended_itself = False
    with anyio.CancelScope() as scope:

        def on_wait(count: int) -> None:
            if count == wait:
                scope.cancel()

        await Watched(work, on_wait)
        ended_itself = True
    return not ended_itself
