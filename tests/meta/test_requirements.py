"""The pinned requirements fit what the project says that it needs."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.paths import REPO

_REQUIREMENTS = REPO / "requirements"
_OWN = {"lovia", "lovia-otel"}


def project(path: str) -> dict[str, Any]:
    """Return the `project` table of a pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((REPO / path).read_text(encoding="utf-8"))["project"]
    return table


LOVIA = project("pyproject.toml")
OTEL = project("instrumentation/pyproject.toml")


def named(file: str) -> list[Requirement]:
    """Return the requirements of a `.in` file, which has one a line and comments."""
    lines = (_REQUIREMENTS / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def declared() -> list[Requirement]:
    """Return everything that dev.txt has to hold: both distributions, all extras, dev.in."""
    texts = [
        text
        for table in (LOVIA, OTEL)
        for group in (table["dependencies"], *table.get("optional-dependencies", {}).values())
        for text in group
    ]
    both = [Requirement(text) for text in texts] + named("dev.in")
    return [requirement for requirement in both if requirement.name not in _OWN]


def pins(file: str) -> dict[str, Version]:
    """Return the pinned version of each package in a requirements file."""
    text = (_REQUIREMENTS / file).read_text(encoding="utf-8")
    found = re.findall(r"^(\S+)==(\S+)", text, re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in found}


@pytest.mark.parametrize(
    ("file", "wanted"),
    [("dev.txt", declared()), ("types.txt", named("types.in"))],
    ids=["dev.txt", "types.txt"],
)
def test_pins_are_not_stale(file: str, wanted: list[Requirement]) -> None:
    """Each declared requirement is pinned, at a version that it allows."""
    pinned = pins(file)
    missing = [
        str(requirement)
        for requirement in wanted
        if (version := pinned.get(canonicalize_name(requirement.name))) is None
        or not requirement.specifier.contains(version, prereleases=True)
    ]
    assert missing == [], "run `make requirements`"


@pytest.mark.parametrize("file", ["dev.txt", "types.txt"])
def test_every_pin_has_hashes_and_no_address(file: str) -> None:
    """The pinned files hold versions, markers and hashes, and nothing else."""
    text = (_REQUIREMENTS / file).read_text(encoding="utf-8")
    entry = r"[a-z0-9.-]+==\S+(?: ; [^\n\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"(?:{entry})+", text)


def test_both_distributions_have_one_version() -> None:
    """The two distributions are released together, and the one asks for the other as it is."""
    assert LOVIA["version"] == OTEL["version"]
    wanted = next(r for r in map(Requirement, LOVIA["dependencies"]) if r.name == "lovia-otel")
    assert wanted.specifier.contains(OTEL["version"], prereleases=True)


def test_the_core_stays_light() -> None:
    """The core asks for four packages and the instrumentation for one; the rest are extras."""
    assert {Requirement(text).name for text in LOVIA["dependencies"]} == {
        "lovia-otel",
        "anyio",
        "pydantic",
        "tiktoken",
    }
    assert {Requirement(text).name for text in OTEL["dependencies"]} == {"opentelemetry-api"}


def test_each_dependency_earns_its_place() -> None:
    """docs/dependencies.md has one line, with a reason, for each direct dependency."""
    text = (REPO / "docs" / "dependencies.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", text, re.MULTILINE)
    wanted = {canonicalize_name(r.name) for r in [*declared(), *named("types.in")]} | {"lovia-otel"}
    assert sorted(canonicalize_name(name) for name, _ in stated) == sorted(wanted)
    assert [name for name, reason in stated if len(reason.split()) < 4] == []
