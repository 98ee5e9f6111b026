"""Observers of a run: functions that are called with every event of a kind."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio.to_thread

from lovia.errors import UserError
from lovia.events import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.runtime.run_context import RunContext

__all__ = ["AgentHooks", "HookHandler"]

E = TypeVar("E", bound=Event)
#: ``handler(event, ctx)``, sync or async; what it returns is ignored.
HookHandler: TypeAlias = "Callable[[E, RunContext[Any]], Awaitable[Any] | Any]"

_log = logging.getLogger("lovia.hooks")


class AgentHooks:
    """A collection of event handlers.

    Hooks observe and never decide: a handler that raises is logged and counted, and the run goes
    on. Handlers run one after another, in the order of registration, before the event reaches the
    stream.

    Attributes:
        failures: How many times a handler raised.
    """

    def __init__(self) -> None:
        self.failures: int = 0
        self._handlers: list[tuple[tuple[type[Event], ...], HookHandler[Any]]] = []

    def on(
        self, event_type: type[E] | tuple[type[E], ...]
    ) -> Callable[[HookHandler[E]], HookHandler[E]]:
        """Register a handler for one event type or several; base classes match all their kinds.

        Raises:
            UserError: The argument is no event type.
        """
        types = event_type if isinstance(event_type, tuple) else (event_type,)
        kind: Any
        for kind in types:
            if not (isinstance(kind, type) and issubclass(kind, Event)):
                message = f"hooks.on() takes event types, not {kind!r}."
                raise UserError(message, hint="Use a class of lovia.events, such as TurnStarted.")

        def register(handler: HookHandler[E]) -> HookHandler[E]:
            self._handlers.append((types, handler))
            return handler

        return register

    def on_any(self, fn: HookHandler[Event]) -> HookHandler[Event]:
        """Register a handler for every event."""
        self._handlers.append(((Event,), fn))
        return fn

    async def dispatch(self, event: Event, ctx: RunContext[Any]) -> None:
        """Call every handler that takes this event; their failures are logged and counted."""
        for types, handler in tuple(self._handlers):
            if not isinstance(event, types):
                continue
            try:
                outcome = handler(event, ctx)
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:  # noqa: BLE001 - an observer must not break what it observes
                self.failures += 1
                await anyio.to_thread.run_sync(_report, event, error)


def _report(event: Event, error: Exception) -> None:
    """Log a failure (in a worker thread: showing a traceback reads source files)."""
    _log.error("a hook for %s failed; the run goes on", type(event).__name__, exc_info=error)
