"""`observe` works with the real frameworks, at their current version and at an older one.

The checks of a framework are the files `check_*.py` in its folder, which run in an environment of
their own. They are slow to set up, and ask for a package index, so they run when LOVIA_UPSTREAM=1
is set, as `.ci/run` does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.paths import REPO
from tests.upstream.environments import ENVIRONMENTS, Environment
from tests.upstream.making import make_if_asked

_HERE = Path(__file__).parent


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=str)
def test_observe_with_the_real_package(
    environment: Environment, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every check of the framework passes in an environment that holds it."""
    make_if_asked(environment, capfd)
    done = environment.run(
        *("-m", "pytest", "-q", "-c", _HERE / "pytest.ini", "--rootdir", REPO),
        *("--confcutdir", _HERE, _HERE / environment.framework),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_framework_is_checked_at_two_versions() -> None:
    """Each folder of checks has a current and an older version of its framework."""
    folders = {path.parent.name for path in _HERE.glob("*/check_*.py")}
    versions = {name: [e for e in ENVIRONMENTS if e.framework == name] for name in folders}
    assert folders == {environment.framework for environment in ENVIRONMENTS}
    assert [name for name, found in versions.items() if len(found) < 2] == []
