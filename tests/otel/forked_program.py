"""A program that sets telemetry up and then forks, in one of several ways; `test_forking` runs it.

Usage: forked_program.py WAY DESTINATION
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time

from lovia_otel import EventBridge, configure, logs, providers, run_scope

_CHILDREN = 3


def work(agent: str) -> None:
    """Make a span, a log event and a metric."""
    with run_scope(agent=agent, run_id=agent, session_id=None) as run:
        logs.agent_handoff(source=agent, target="other")
        run.settle(outcome="completed")


class HandoffOccurred:
    """An event of a runtime that records nothing itself."""

    from_agent = "bridged"
    to_agent = "other"


def by_fork() -> None:
    """Fork, let the child end as a program does, and go on."""
    child = os.fork()
    if child == 0:
        work(f"child {os.getpid()}")
        sys.exit(0)
    _wait(child)


def by_multiprocessing() -> None:
    """Start a process of the standard library, which ends without the interpreter's exit hooks."""
    process = multiprocessing.get_context("fork").Process(target=work, args=("child",))
    process.start()
    process.join()
    assert process.exitcode == 0


def as_server() -> None:
    """Fork a worker that serves until the master ends it, as servers with preloading do."""
    ready, tell = os.pipe()
    worker = os.fork()
    if worker == 0:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        work(f"child {os.getpid()}")
        os.write(tell, b".")
        while True:
            time.sleep(0.05)
    os.read(ready, 1)
    os.kill(worker, signal.SIGTERM)
    _wait(worker)


def by_hand() -> None:
    """Fork a child that leaves at once, and flushes before."""
    child = os.fork()
    if child == 0:
        work(f"child {os.getpid()}")
        os._exit(0 if handle.flush() else 1)
    _wait(child)


def while_busy() -> None:
    """Fork while other threads record and hold whatever locks there are."""
    over = threading.Event()

    def record() -> None:
        while not over.is_set():
            work("busy")
            time.sleep(0.001)  # more than the SDK can queue would be told on standard error

    threads = [threading.Thread(target=record) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        time.sleep(0.01)
        by_fork()
    over.set()
    for thread in threads:
        thread.join()


def with_bridge() -> None:
    """Fork with a bridge that is at work, and give it an event on both sides."""
    bridge(HandoffOccurred())
    by_fork_with(lambda: bridge(HandoffOccurred()))


def by_fork_with(more: object) -> None:
    """Fork a child that does something besides."""
    child = os.fork()
    if child == 0:
        assert callable(more)
        more()
        work(f"child {os.getpid()}")
        sys.exit(0)
    _wait(child)


def _wait(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status


if __name__ == "__main__":
    way, destination = sys.argv[1:]
    endpoint = destination if destination.startswith("http") else None
    handle = configure(endpoint, "forking", file=None if endpoint else destination)
    bridge = EventBridge()
    assert providers.recording()
    work("before")
    handle.flush()
    work("waiting")  # in the queues of the SDK when the fork comes
    for _ in range(1 if way in {"while_busy", "with_bridge"} else _CHILDREN):
        globals()[way]()
    work("after")
    handle.shutdown()
