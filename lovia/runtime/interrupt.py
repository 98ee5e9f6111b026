"""Stopping a run that waits: a cancel token that can also interrupt a model call."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.cancellation import CancelToken

__all__ = ["Interrupt"]


class Interrupt:
    """The stop button of one run.

    The token alone is noticed at the next safe point. A model call has no effect that could get
    lost, so waiting for one is interrupted at once; tools that already run are let finish, since
    what they did has to be recorded. A run inside a tool is interrupted with the outer one.

    Attributes:
        token: What is noticed at safe points.
        inner: The stop buttons of runs inside this run's tools.
    """

    def __init__(self, token: CancelToken, outer: Interrupt | None = None) -> None:
        self.token = token
        self._scope: anyio.CancelScope | None = None
        self.inner: WeakSet[Interrupt] = WeakSet()
        if outer is not None:
            outer.inner.add(self)

    def cancel(self, reason: str | None = None) -> None:
        """Ask the run to stop, and interrupt it where that is safe."""
        self.token.cancel(reason)
        if self._scope is not None:
            self._scope.cancel()
        for inner in tuple(self.inner):
            inner.cancel(reason)

    @contextmanager
    def allowed(self, checkpoint: str) -> Iterator[None]:
        """Let :meth:`cancel` interrupt the block.

        Raises:
            RunCancelled: It did; the error names ``checkpoint``.
        """
        self.token.check(checkpoint)
        with anyio.CancelScope() as scope:
            self._scope = scope
            try:
                yield
            finally:
                self._scope = None
        if scope.cancelled_caught:
            self.token.check(checkpoint)
