"""Exporters and metric readers that a forked process can go on with."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE: Final = 1.0  # seconds that a fork waits for a collection that is under way


class RenewedExporter:
    """An exporter of any signal that can be exchanged for a new one.

    A connection that two processes write to is of use to neither, and a lock that another thread
    held at the fork is never released.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._exporter = make()

    def renew(self) -> None:
        """Go on with a new exporter; the old one is left as it is."""
        self._exporter = self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exporter, name)


class ForkedReader(PeriodicExportingMetricReader):
    """A reader of which a forked process can be rid, with what its parent has counted."""

    _left: bool = False

    def __init__(self, exporter: Any) -> None:
        self.exporter: Any = exporter
        self._collecting = threading.Lock()
        self._held = False
        super().__init__(exporter)

    # Final in the SDK, which has no other place to keep a reader from collecting during a fork.
    def collect(self, timeout_millis: float = 10_000) -> None:  # type: ignore[misc]
        """Collect and export; a reader that was left ends the thread that asks it to."""
        if self._left:
            sys.exit()
        with self._collecting:
            super().collect(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Export once more and end; a reader that was left does nothing."""
        if not self._left:
            super().shutdown(timeout_millis, **kwargs)

    def hold(self) -> None:
        """Begin no collection until :meth:`go_on`, so that a fork finds the SDK's locks free."""
        self._held = self._collecting.acquire(timeout=_PATIENCE)

    def go_on(self) -> None:
        """Collect again."""
        if self._held:
            self._collecting.release()

    def leave(self) -> None:
        """Never export again: what was counted so far is the parent's to tell."""
        self._left = True


class SharedLines:
    """One file for the exporters of three signals, in this process and in forked ones.

    Each exporter writes from its own thread and hands over a whole line a call. All that waits goes
    out in one piece at a flush, so that lines stay whole whoever else appends to the file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[str] = []
        self._lock = threading.Lock()
        self.closed: bool = False

    def write(self, text: str) -> int:
        """Take a line; return its length in characters."""
        with self._lock:
            self._waiting.append(text)
        return len(text)

    def flush(self) -> None:
        """Write what was taken.

        Raises:
            OSError: it cannot be written; it is lost.
        """
        with self._lock:
            data = "".join(self._waiting).encode("utf-8", "replace")
            self._waiting.clear()
            while data:
                data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        """Write what was taken and close the file."""
        self.flush()
        self.closed = True
        os.close(self._descriptor)

    def begin_anew(self) -> None:
        """Go on in a forked process: what was waiting is the parent's to write."""
        self._waiting = []
        self._lock = threading.Lock()
