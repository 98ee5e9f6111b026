"""The package of the 0.9 line, in an environment of its own."""

from __future__ import annotations

import pytest

from tests.upstream.environments import Environment
from tests.upstream.making import make

FORMER = Environment("lovia09", ("lovia==0.9.119",))


@pytest.fixture
def former(capfd: pytest.CaptureFixture[str]) -> None:
    """Make the environment unless it is there; without a package index, skip the test."""
    make(FORMER, capfd)
