"""Waiting for what another process does in its own time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_PATIENCE: Final = 60.0  # seconds; a machine with much to do is no failure
_PAUSE: Final = 0.2  # seconds


def eventually(ask: Callable[[], T], enough: Callable[[T], bool] = bool) -> T:
    """Ask until the answer is enough, and return it.

    Raises:
        AssertionError: It was not, for a minute; the last answer is in the message.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        answer = ask()
        if enough(answer):
            return answer
        assert time.monotonic() < deadline, f"still: {answer!r}"
        time.sleep(_PAUSE)
