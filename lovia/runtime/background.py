"""A run without a block around it.

``async for event in Runner.stream(...)`` gives the run no scope to live in, and a task that
outlives the call that started it is something only asyncio has. So this one module uses asyncio.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

__all__ = ["BackgroundTask"]


class BackgroundTask:
    """A task of the running asyncio loop.

    Raises:
        UserError: Another kind of loop is running.
    """

    def __init__(self, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError as error:
            message = "Only asyncio can stream a run without a block around it."
            hint = "Write `async with Runner.stream(...) as handle:` and iterate over the handle."
            raise UserError(message, hint=hint) from error
        self._task = self._loop.create_task(main())

    def cancel(self) -> None:
        """Cancel the task; may be called from any thread and after the loop is closed."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
