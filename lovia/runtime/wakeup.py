"""Calling into an event loop from anywhere: another thread, or a signal handler.

A function that a signal handler calls may run while the loop sleeps, in the loop's own thread; so
it has to wake the loop even there. Both libraries have such a call and anyio passes neither on, so
this module uses them directly.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["waker"]


def waker(callback: Callable[[], object]) -> Callable[[], None]:
    """Return a function that has ``callback`` called in the event loop that runs now.

    It may be called from any thread and from signal handlers, and does nothing when the loop is
    closed.
    """
    call_soon = _thread_safe_call()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed: asyncio's error, and trio's a kind of it
            call_soon(callback)

    return wake


def _thread_safe_call() -> Any:
    trio: Any = sys.modules.get("trio")
    if trio is not None:
        with suppress(RuntimeError):  # trio is loaded and does not run here
            return trio.lowlevel.current_trio_token().run_sync_soon
    return asyncio.get_running_loop().call_soon_threadsafe
