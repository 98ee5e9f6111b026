"""Going on in a forked process, which has none of its parent's threads and all of its locks.

Another thread may have held any of those locks at the moment of the fork, and will never release
them here. So whatever has one is told to begin anew.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol


class Renewable(Protocol):
    """What has a lock, a thread or a connection of its own."""

    def begin_anew(self) -> None:
        """Have new ones. Called in the only thread of the process."""


_known: Final[weakref.WeakSet[Renewable]] = weakref.WeakSet()


def renew_in_child(thing: Renewable) -> None:
    """Tell ``thing`` to begin anew in each forked process, as long as it lives."""
    _known.add(thing)


def _after_fork() -> None:
    for thing in list(_known):
        thing.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
