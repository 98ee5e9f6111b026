"""Noticing that two work on what only one may work on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.errors import CheckpointConflict, UserError

if TYPE_CHECKING:
    from collections.abc import Sized

    from lovia.stores.marks import LogMark

__all__ = ["expected_before", "run_moved_on", "session_taken"]


def expected_before(log: LogMark, tail: Sized) -> tuple[int, int]:
    """Return number of saves and of entries that a log must have for this save to be the next."""
    return log.sequence - 1, log.entries - len(tail)


def run_moved_on(run_id: str) -> CheckpointConflict:
    """Return the error for a run that is not as this process left it."""
    message = f"Run {run_id!r} was gone on with, restarted or deleted by somebody else."
    hint = "Let one process at a time work on a run; resume it where it is now."
    return CheckpointConflict(message, hint=hint, run_id=run_id)


def session_taken(session_id: str) -> UserError:
    """Return the error for a fork whose target is there already."""
    message = f"There is a conversation {session_id!r} already."
    return UserError(message, hint="Fork under an id that is not in use.")
