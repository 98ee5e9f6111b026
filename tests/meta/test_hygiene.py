"""The checkout speaks of the project alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.meta.source import tracked_files
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

# Written in pieces, so that this file does not find itself.
_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("proxy", "golang", "org"),
        ("registry", "npmjs", "org"),
        ("crates", "io"),
        ("repo1", "maven", "org"),
        ("deb", "debian", "org"),
    )
]
_FORBIDDEN = {
    "the address of a package index": re.compile("|".join(map(re.escape, _HOSTS))),
    "a path of somebody's machine": re.compile(r"(?<![\w.~/-])/(?:root|work)/(?=\w)"),
}


def _texts() -> list[Path]:
    return [path for path in tracked_files() if b"\0" not in path.read_bytes()[:8192]]


@pytest.mark.parametrize("what", _FORBIDDEN)
def test_no_file_names(what: str) -> None:
    """No tracked file holds the address of a package index, or a path that only one machine has."""
    found = [
        f"{path.relative_to(REPO)}:{number}: {match[0]}"
        for path in _texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in _FORBIDDEN[what].finditer(line)
    ]
    assert found == []


def test_no_file_is_a_lock_file() -> None:
    """No lock file that records where packages were fetched from is under version control."""
    locks = {"uv.lock", "poetry.lock", "pylock.toml", "pdm.lock"}
    assert [path for path in tracked_files() if path.name in locks] == []


def test_the_top_level_is_the_one_that_was_planned() -> None:
    """The top level holds the five rooms and the usual files, and nothing else."""
    top = {path.relative_to(REPO).parts[0] for path in tracked_files()}
    rooms = {"pyproject.toml", "lovia", "instrumentation", "tests", "dashboards", "docs"}
    usual = {
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        ".ci",
        "benchmarks",
        "requirements",
    }
    assert top - rooms - usual - {".gitignore", ".gitattributes"} == set()
