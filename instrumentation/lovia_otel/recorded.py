"""What scopes have recorded, so that nobody records the same again from an event that tells of it.

A runtime opens scopes and emits events about the same things. Whoever turns events into telemetry
asks here first. Only the most recent ids are kept: an event follows its scope closely.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import providers
from lovia_otel._forking import renew_in_child

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

MOST: Final = 10_000  # of each kind


class _Recent:
    """The most recent keys that were added, while the providers of today were in force."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, None] = {}
        self._providers = providers.current()
        self.begin_anew()
        renew_in_child(self)

    def begin_anew(self) -> None:
        """Have a lock that nobody holds, in a forked process."""
        self._lock = threading.Lock()

    def add(self, key: Hashable) -> None:
        with self._lock:
            if self._providers is not providers.current():
                self._keys, self._providers = {}, providers.current()
            self._keys.pop(key, None)
            self._keys[key] = None
            if len(self._keys) > MOST:
                del self._keys[next(iter(self._keys))]

    def __contains__(self, key: Hashable) -> bool:
        return self._providers is providers.current() and key in self._keys


runs: Final = _Recent()  # ids of runs that had a scope
passes: Final = _Recent()  # ids of passes that had a scope
views: Final = _Recent()  # views that came out of such passes, as view_key() names them


def view_key(before: Sequence[Any], after: Sequence[Any]) -> Hashable:
    """Name a pass by its sizes in entries and the identity of what the view begins and ends with.

    This is for sources whose events carry no id of the pass.
    """
    ends = (id(after[0]), id(after[-1])) if after else ()
    return (len(before), len(after), *ends)
