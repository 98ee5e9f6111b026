"""Stopping a run that waits: from a cancel token to whatever is being awaited."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import anyio

from lovia.cancellation import torn_down
from lovia.runtime.wakeup import waker
from lovia_otel import cancellations_explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.cancellation import CancelToken

__all__ = ["Interrupt"]


class _Block:
    """A block that may be interrupted, and how many such blocks are open inside it."""

    def __init__(self, owner: Interrupt, scope: anyio.CancelScope, checkpoint: str) -> None:
        self.owner = owner
        self.scope = scope
        self.checkpoint = checkpoint
        self.inner = 0


_current: Final[ContextVar[_Block | None]] = ContextVar("lovia_interruptible", default=None)


class Interrupt:
    """Ends what a run waits for when its token asks for a stop.

    The token alone is noticed at the next safe point. A block that is :meth:`allowed` to be
    interrupted is left at once, with the ``RunCancelled`` that the safe point of its name would
    have raised. Of nested blocks the innermost ones are interrupted, so that each error names what
    was really waited for; what follows meets the next safe point.

    Attributes:
        token: Asks for the stop.
    """

    def __init__(self, token: CancelToken) -> None:
        self.token = token
        self._blocks: set[_Block] = set()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Let spans that are cancelled inside the block say why, and what was waited for.

        What is interrupted sees the event loop's own exception, which knows nothing of that.
        """
        with cancellations_explained(self._why):
            yield

    @contextmanager
    def listening(self, checkpoint: str) -> Iterator[None]:
        """Interrupt what is waited for in the block as soon as the token asks for a stop.

        A stop that was asked for before is left to the next safe point.

        Raises:
            RunCancelled: Something was interrupted outside of any inner block.
        """
        wake = waker(self._interrupt)
        forget = None if self.token.is_cancelled else self.token.on_cancel(wake)
        try:
            with self._block(checkpoint) as scope:
                yield
        finally:
            if forget is not None:
                forget()
        if scope.cancelled_caught:
            self.token.check(checkpoint)

    @contextmanager
    def allowed(self, checkpoint: str) -> Iterator[None]:
        """Pass a safe point, and let the block after it be interrupted.

        Raises:
            RunCancelled: A stop was asked for before or meanwhile; the error names ``checkpoint``.
        """
        self.token.check(checkpoint)
        with self._block(checkpoint) as scope:
            yield
        if scope.cancelled_caught:
            self.token.check(checkpoint)

    @contextmanager
    def _block(self, checkpoint: str) -> Iterator[anyio.CancelScope]:
        outer = _current.get()
        if outer is not None and outer.owner is not self:
            outer = None  # a run around this one has a stop button of its own
        with anyio.CancelScope() as scope:
            block = _Block(self, scope, checkpoint)
            token = _current.set(block)
            self._blocks.add(block)
            if outer is not None:
                outer.inner += 1
            try:
                yield scope
            finally:
                _current.reset(token)
                self._blocks.discard(block)
                if outer is not None:
                    outer.inner -= 1

    def _why(self) -> tuple[str, str | None]:
        """Return the reason, and the point of the innermost open block, of an outer run's too."""
        block = _current.get()
        return torn_down(self.token).reason, None if block is None else block.checkpoint

    def _interrupt(self) -> None:
        for block in tuple(self._blocks):
            if not block.inner:
                block.scope.cancel()
