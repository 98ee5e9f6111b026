"""Makes an environment inside a test, and says so."""

from __future__ import annotations

import os
import sys

import pytest

from tests.upstream.environments import SWITCH, Environment, IndexUnreachableError


def make(environment: Environment, capfd: pytest.CaptureFixture[str]) -> None:
    """Make an environment unless it is there; without a package index, skip the test."""

    def say(progress: str) -> None:
        with capfd.disabled():
            sys.stderr.write(f"\nupstream: {progress}\n")
            sys.stderr.flush()

    try:
        environment.make(say)
    except IndexUnreachableError as problem:
        pytest.skip(f"no package index in reach for {environment}: {problem}")


def make_if_asked(environment: Environment, capfd: pytest.CaptureFixture[str]) -> None:
    """Make an environment where such tests are asked for; otherwise, skip the test."""
    if os.environ.get(SWITCH) != "1":
        pytest.skip(f"set {SWITCH}=1 to run what needs {environment}")
    make(environment, capfd)
