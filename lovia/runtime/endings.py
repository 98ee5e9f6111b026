"""How runs end, as a checkpoint tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lovia.errors import BudgetExceeded, MaxTurnsExceeded, RunCancelled

if TYPE_CHECKING:
    from lovia.stores import RunOutcome, RunStatus

__all__ = ["LIMITS", "SUSPENDED", "Ending"]

#: Not failures: the run goes on when it is resumed with a raised limit.
LIMITS: Final = (MaxTurnsExceeded, BudgetExceeded)


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes:
        status: Whether it can be gone on with.
        outcome: The same in finer words; ``None`` for a run that is going.
        output: The final answer.
        error: ``type`` and ``message`` of what ended it otherwise.
    """

    status: RunStatus
    outcome: RunOutcome | None = None
    output: Any = None
    error: dict[str, Any] | None = None

    @classmethod
    def by(cls, error: BaseException) -> Ending:
        """Return the ending that an exception means."""
        shown = {"type": type(error).__name__, "message": getattr(error, "message", str(error))}
        if isinstance(error, LIMITS):
            return cls("interrupted", "limit_reached", error=shown)
        if isinstance(error, RunCancelled) or not isinstance(error, Exception):
            return cls("interrupted", "cancelled", error=shown)
        return cls("failed", "failed", error=shown)


#: The run waits for approvals.
SUSPENDED: Final = Ending("interrupted", "suspended")
