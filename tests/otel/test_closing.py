"""Closing something that hangs does not hang."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from lovia_otel._closing import Closer

if TYPE_CHECKING:
    import pytest


def test_a_closer_closes_when_asked() -> None:
    """Nothing happens before, and waiting tells when it is done."""
    closed = threading.Event()
    closer = Closer(closed.set)
    assert not closer.wait(0)
    assert not closed.is_set()
    closer.ask()
    assert closer.wait(5)
    assert closed.is_set()


def test_waiting_has_an_end() -> None:
    """What hangs is left alone after the time that was given."""
    release = threading.Event()
    closer = Closer(release.wait)
    closer.ask()
    before = time.monotonic()
    assert not closer.wait(0.05)
    assert time.monotonic() - before < 2
    release.set()
    assert closer.wait(5)


def test_a_close_that_fails_is_done(caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged, and nobody waits for it."""
    closer = Closer(lambda: 1 / 0)
    closer.ask()
    assert closer.wait(5)
    assert "ZeroDivisionError" in caplog.text


def test_a_forked_child_closes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has not got the thread does the work where it is asked."""
    asked_in: list[int] = []
    closer = Closer(lambda: asked_in.append(threading.get_ident()))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    closer.ask()
    assert threading.get_ident() in asked_in
    assert closer.wait(5)
