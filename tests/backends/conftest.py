"""The running backends. Where they are not built, the tests say what builds them.

All of it is started once a session, so the tests of this folder belong into one group: with several
workers it is one of them that runs them.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

from tests.backends.binaries import missing
from tests.backends.stack import Stack
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.backends.stack import Collector, Jaeger, Prometheus

#: Set where the backends have to be there, so that tests which miss them fail.
SWITCH: Final = "LOVIA_BACKENDS"


@pytest.fixture(scope="session")
def _built() -> None:
    """Skip where the backends are not built, or fail where they should be."""
    absent = missing()
    if not absent:
        return
    reason = f"{', '.join(absent)} not built: run `.venv/bin/python -m tests.backends build`"
    if os.environ.get(SWITCH) == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def log_store(_built: None) -> Iterator[Receiver]:
    """A receiver in the place of the store for log events, which no package registry has."""
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def stack(log_store: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Collector, Jaeger and Prometheus, connected; their logs are below pytest's folder."""
    stack = Stack(tmp_path_factory.mktemp("backends"), log_store.url)
    with ExitStack() as running:
        for server in stack.servers():
            running.enter_context(server)
        yield stack


@pytest.fixture(scope="session")
def prometheus(stack: Stack) -> Prometheus:
    """Prometheus with our rules."""
    return stack.prometheus


@pytest.fixture(scope="session")
def jaeger(stack: Stack) -> Jaeger:
    """Jaeger behind the Collector."""
    return stack.jaeger


@pytest.fixture(scope="session")
def collector(stack: Stack) -> Collector:
    """The Collector in front of both."""
    return stack.collector


@pytest.fixture
def folder(tmp_path: Path, _offline_vocabulary: None) -> Path:
    """Where a run may write."""
    return tmp_path
