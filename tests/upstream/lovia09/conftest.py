"""The package of the 0.9 line, in an environment of its own."""

from __future__ import annotations

import sys

import pytest

from tests.upstream.environments import Environment, IndexUnreachableError

FORMER = Environment("lovia09", ("lovia==0.9.119",))


@pytest.fixture
def former(capfd: pytest.CaptureFixture[str]) -> None:
    """Make the environment unless it is there; without a package index, skip the test."""

    def say(progress: str) -> None:
        with capfd.disabled():
            sys.stderr.write(f"\nupstream: {progress}\n")

    try:
        FORMER.make(say)
    except IndexUnreachableError as problem:
        pytest.skip(f"no package index in reach for {FORMER}: {problem}")
