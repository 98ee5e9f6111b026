"""What a user installs holds the package and nothing else of the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.meta.source import modules
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

_FOLDERS = {"lovia": REPO, "lovia_otel": REPO / "instrumentation"}


def build(package: str, folder: Path) -> zipfile.ZipFile:
    """Build the wheel of a distribution, without a network, and open it."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=_FOLDERS[package],
        check=True,
        capture_output=True,
    )
    return zipfile.ZipFile(next(folder.glob(f"{package}-*.whl")))


@pytest.mark.parametrize("package", sorted(_FOLDERS))
def test_a_wheel_holds_the_package_alone(package: str, tmp_path: Path) -> None:
    """A wheel has every module, the type marker, the licence, and no folder but its package."""
    root = _FOLDERS[package]
    with build(package, tmp_path) as wheel:
        names = set(wheel.namelist())
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {package}
    expected = {module.path.relative_to(root).as_posix() for module in modules(package)}
    assert expected | {f"{package}/py.typed"} <= names
    assert any(name.endswith("LICENSE") for name in names)


def test_the_command_is_installed(tmp_path: Path) -> None:
    """The wheel of lovia installs the command `lovia`, and its target exists."""
    with build("lovia", tmp_path) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith("entry_points.txt"))
        entry_points = wheel.read(name).decode()
    assert "lovia = lovia.cli:main" in entry_points
    code = "from lovia.cli import main; assert callable(main)"
    subprocess.run([sys.executable, "-c", code], cwd=REPO, check=True)
