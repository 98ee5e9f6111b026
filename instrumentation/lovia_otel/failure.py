"""What an exception that leaves a scope means: an error, a cancellation, or neither."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from lovia_otel import names
from lovia_otel.facts import Facts, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Tells why work is being cancelled, and at which safe point, as far as that is known.
Explanation: TypeAlias = "Callable[[], tuple[str | None, str | None]]"

_explained: Final[ContextVar[Explanation | None]] = ContextVar("lovia_cancelled_why", default=None)

_BY_NAME: Final = "RunCancelled"  # lovia 0.9's, which says nothing of its reason

# Everything that is no cancellation. What is left of BaseException is asyncio's and trio's own.
_NOT_CANCELLED: Final = (Exception, GeneratorExit, KeyboardInterrupt, SystemExit)


@dataclass(frozen=True)
class Failure:
    """How an operation was ended by an exception.

    ``error_type`` is the exception's class name, ``reason`` and ``checkpoint`` say why and at
    which safe point a run was cancelled, where the exception knows.
    """

    error_type: str
    cancelled: bool = False
    reason: object = None
    checkpoint: object = None

    def facts(self) -> Facts:
        """Return the attributes that tell of this failure."""
        return clean(
            {
                names.ERROR_TYPE: self.error_type,
                names.CANCELLATION_REASON: self.reason,
                names.CANCELLATION_CHECKPOINT: self.checkpoint,
            }
        )


@contextmanager
def cancellations_explained(by: Explanation) -> Iterator[None]:
    """Have scopes inside the block ask why, when an event loop's own cancellation ends them.

    That exception says nothing of a reason; whoever runs the work in the block knows it.

    Args:
        by: Returns reason and checkpoint; called where the cancellation passes a scope.
    """
    token = _explained.set(by)
    try:
        yield
    finally:
        _explained.reset(token)


def failure_of(error: BaseException | None) -> Failure | None:
    """Classify ``error``; ``None`` when it is no failure.

    ``GeneratorExit`` is how a stream that nobody reads on is closed, not a failure. A cancellation
    is asyncio's or trio's own exception (known by what it is not, so that neither library is
    needed here), a group of nothing else, an exception with a ``cancellation_reason``, or one
    called ``RunCancelled``, which somebody asked for.
    """
    if error is None or isinstance(error, GeneratorExit):
        return None
    error = _only(error)
    reason, checkpoint = _why(error)
    return Failure(
        type(error).__qualname__,
        cancelled=is_cancellation(error),
        reason=getattr(error, "cancellation_reason", reason),
        checkpoint=getattr(error, "cancellation_checkpoint", checkpoint),
    )


def is_cancellation(error: BaseException) -> bool:
    """Is this exception a cancellation, and not an error?"""
    if isinstance(error, BaseExceptionGroup):
        return all(is_cancellation(inner) for inner in error.exceptions)
    if getattr(error, "cancellation_reason", None) is not None:
        return True
    if type(error).__name__ == _BY_NAME:
        return True
    return not isinstance(error, _NOT_CANCELLED)


def _why(error: BaseException) -> tuple[str | None, str | None]:
    """Return reason and checkpoint of a cancellation that does not say them itself."""
    if type(error).__name__ == _BY_NAME:
        return names.REASON_USER, None
    explain = _explained.get()
    if explain is None or not is_cancellation(error):
        return None, None
    return explain()


def _only(error: BaseException) -> BaseException:
    """Return what a task group wrapped, when it is one thing: its type says more."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
