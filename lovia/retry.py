"""When to try a failed model call again, and how long to wait before it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from lovia.errors import ContextOverflowError, ProviderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

__all__ = ["RetryPolicy", "is_transient"]

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MOST_CAUSES = 32  # looked at; an error may be among its own causes


def is_transient(error: BaseException) -> bool:
    """Tell whether the same request may succeed when it is simply sent again.

    Errors that are not ours are judged as well, since summarizers, tools and providers that others
    wrote raise their own clients': by ``status_code``, which the vendors' clients and HTTP
    libraries put on the error or on its ``response``, or by a lost connection among its causes.
    """
    if isinstance(error, ContextOverflowError):
        return False
    if isinstance(error, ProviderError):
        return error.retryable or error.status_code in _TRANSIENT_STATUS
    status = _status_of(error)
    if status is not None:
        return status in _TRANSIENT_STATUS
    return any(isinstance(cause, (TimeoutError, ConnectionError)) for cause in _causes(error))


def _status_of(error: BaseException) -> int | None:
    """Return the HTTP status that somebody else's error tells of, if it does."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, the members of groups, and what each was raised from or in place of.

    What was merely being handled when an error came up does not count: that one may be a bug.
    """
    waiting: list[BaseException | None] = [error]
    for _ in range(_MOST_CAUSES):
        if not waiting:
            return
        cause = waiting.pop()
        if cause is None:
            continue
        yield cause
        # HTTP libraries hide the system's own error: they raise theirs "from None" in its place.
        replaced = cause.__context__ if cause.__suppress_context__ else None
        waiting.append(cause.__cause__ or replaced)
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(cause.exceptions)


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with jitter around one model call.

    Attributes:
        max_attempts: Calls in total; 1 turns retrying off.
        restart_on_partial: Whether a failure after the first streamed delta starts the turn again.
        backoff_base: Seconds before the first retry; doubles with each further one.
        backoff_max: Upper bound of one wait in seconds; also of a wait that the provider asked for.
        retry_on: Tells transient failures from final ones.
        sleep: How to wait (a seam for tests).
    """

    max_attempts: int = 5
    restart_on_partial: bool = True
    backoff_base: float = 1.0
    backoff_max: float = 30.0
    retry_on: Callable[[BaseException], bool] = is_transient
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def backoff_delay(self, attempt: int, error: BaseException | None = None) -> float:
        """Return the seconds to wait after ``attempt`` failures.

        A ``retry_after`` on the error is honoured. Otherwise the wait is drawn from the upper half
        of the exponential step, so that callers which failed together do not come back together.
        """
        asked: float | None = getattr(error, "retry_after", None)
        if asked is not None:
            return min(max(asked, 0.0), self.backoff_max)
        step = min(self.backoff_base * 2.0 ** max(attempt - 1, 0), self.backoff_max)
        jitter: float = 0.5 + random.random() / 2  # noqa: S311 - jitter, not a secret
        return step * jitter

    async def wait(self, attempt: int, error: BaseException | None = None) -> float:
        """Sleep for :meth:`backoff_delay` and return the seconds waited."""
        delay = self.backoff_delay(attempt, error)
        await self.sleep(delay)
        return delay
