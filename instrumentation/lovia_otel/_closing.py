"""Closing something that may hang, at a time when no thread can be started any more."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("lovia_otel")


class Closer:
    """A thread that waits to be asked, and then closes one thing.

    An exporter retries a dead receiver for many seconds, and a process that ends must not wait so
    long. From Python 3.12 on no thread can be started at exit, so this one starts beforehand; it is
    a daemon, and what has not been closed when the process ends is left.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        self._close = close
        self._process = os.getpid()
        self._asked = threading.Event()
        self._done = threading.Event()
        threading.Thread(target=self._run, name="lovia-otel-closer", daemon=True).start()

    def ask(self) -> None:
        """Begin to close; returns at once. In a forked child, which has no such thread, do it."""
        self._asked.set()
        if os.getpid() != self._process:
            self._run()

    def wait(self, seconds: float) -> bool:
        """Wait until it is closed; ``False`` if that takes longer than ``seconds``."""
        return self._done.wait(max(0.0, seconds))

    def _run(self) -> None:
        self._asked.wait()
        try:
            self._close()
        except Exception:  # noqa: BLE001 - whatever an exporter raises
            _log.warning("telemetry could not be shut down cleanly", exc_info=True)
        self._done.set()
