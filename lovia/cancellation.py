"""Cooperative cancellation: a token, and the named safe points that look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.errors import RunCancelled
from lovia_otel.names import REASON_PARENT

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CHECKPOINTS", "CancelToken", "torn_down"]

#: The safe points at which a run notices a cancellation, in the order in which a turn passes them.
CHECKPOINTS: Final = (
    "turn",
    "pass",
    "stage",
    "fold",
    "summary_stream",
    "model_stream",
    "tool_preflight",
    "checkpoint_save",
)


class CancelToken:
    """A request to stop that a run honours at its next named safe point.

    Hand one to ``Runner.run`` and call :meth:`cancel` from any task, thread or signal handler. A
    run that is waiting for something is woken, so it need not come to a safe point first. The token
    also counts the safe points that were passed, which telemetry reports.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
        self._callbacks: dict[object, Callable[[], None]] = {}
        self.checkpoints_passed: int = 0

    @property
    def is_cancelled(self) -> bool:
        """Whether a stop was requested."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why the stop was requested, or ``None``."""
        return self._reason

    def cancel(self, reason: str | None = None) -> None:
        """Request a stop; the first reason given is kept (``user`` when none is)."""
        if self._reason is None:
            self._reason = reason or "user"
        for callback in tuple(self._callbacks.values()):
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have a function called when a stop is requested, at once when it was already.

        Args:
            callback: Called in the thread of whoever requests the stop, maybe more than once; it
                must neither block nor raise.

        Returns:
            A function that takes the callback off the token again.
        """
        # No lock: a signal handler may interrupt this very function and ask for the stop.
        key = object()
        self._callbacks[key] = callback
        if self.is_cancelled:
            callback()

        def remove() -> None:
            self._callbacks.pop(key, None)

        return remove

    def check(self, checkpoint: str | None = None) -> None:
        """Pass a safe point.

        Args:
            checkpoint: The safe point's name, one of :data:`CHECKPOINTS`.

        Raises:
            RunCancelled: A stop was requested; it carries the reason and the safe point.
        """
        if self._reason is not None:
            message = f"The run was cancelled ({self._reason})."
            raise RunCancelled(message, reason=self._reason, checkpoint=checkpoint)
        self.checkpoints_passed += 1


def torn_down(token: CancelToken) -> RunCancelled:
    """Return the error of a run whose task is cancelled.

    By whoever holds the scope around it, the parent, unless the token was asked for a stop before.
    """
    reason = token.reason or REASON_PARENT
    return RunCancelled(f"The run was cancelled ({reason}).", reason=reason)
