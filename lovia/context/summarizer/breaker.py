"""The circuit breaker around the summarizer: it stops paying for summaries that keep failing."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from lovia.context.strict import number, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Breaker"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """Counts consecutive failed summaries, whatever failed, and remembers when it opened.

    Attributes:
        failures: Consecutive failures.
        opened_at: Wall-clock seconds since the epoch at which it opened (the state outlives the
            process, so no monotonic clock will do), or ``None`` while it is closed.
    """

    failures: int = 0
    opened_at: float | None = None

    def state(
        self, cooldown: float, now: float | None = None
    ) -> Literal["closed", "open", "half_open"]:
        """Return the state; after ``cooldown`` seconds an open breaker lets one attempt through."""
        if self.opened_at is None:
            return "closed"
        elapsed = (time.time() if now is None else now) - self.opened_at
        return "half_open" if elapsed >= cooldown or elapsed < 0 else "open"

    def failed(self, limit: int, now: float | None = None) -> Breaker:
        """Return the breaker after one more failure; it opens at ``limit``."""
        failures = self.failures + 1
        if failures < limit:
            return Breaker(failures)
        return Breaker(failures, time.time() if now is None else now)

    def succeeded(self) -> Breaker:
        """Return the breaker after an accepted summary: closed, nothing counted."""
        return replace(self, failures=0, opened_at=None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-safe form; empty while nothing failed."""
        return {"failures": self.failures, "opened_at": self.opened_at} if self.failures else {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Breaker:
        """Rebuild from :meth:`to_json`; raises ``ValueError`` on damage."""
        opened = data.get("opened_at")
        return cls(whole(data.get("failures", 0)), None if opened is None else number(opened))
