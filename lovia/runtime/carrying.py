"""Carrying a short piece of work through although the task that waits for it is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["carried_through"]

# Seconds that the work may take after its task was cancelled.
_GRACE: Final = 5.0


async def carried_through(work: Callable[[], Awaitable[object]]) -> None:
    """Do something whose outcome has to be known: a cancellation waits for its end, for a while.

    Args:
        work: Called once; what it returns is dropped.

    Raises:
        Exception: What ``work`` raises.
    """
    scope, done = anyio.CancelScope(shield=True), anyio.Event()
    failure: list[Exception] = []

    async def carry() -> None:
        with scope:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - raised below, in no group
                failure.append(error)
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(carry)
        try:
            await done.wait()
        except BaseException:
            scope.deadline = anyio.current_time() + _GRACE
            raise
    if failure:
        raise failure[0]
