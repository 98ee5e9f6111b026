"""Cooperative cancellation: a token, and the named safe points that look at it."""

from __future__ import annotations

from typing import Final

from lovia.errors import RunCancelled

__all__ = ["CHECKPOINTS", "CancelToken"]

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

    Hand one to ``Runner.run`` and call :meth:`cancel` from any task or thread. The token also
    counts the safe points that were passed, which telemetry reports.
    """

    def __init__(self) -> None:
        self._reason: str | None = None
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
