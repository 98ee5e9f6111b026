"""Backends are built once, whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.backends import binaries
from tests.backends.binaries import ALL, BuildError, Module

if TYPE_CHECKING:
    from pathlib import Path

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not there: see go.dev/dl")
_SMALL = Module("small", (".",))


def nothing(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that is quick to build, in the place of the real ones, with a cache of its own."""
    folder = tmp_path / "modules" / "small"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module lovia/small\n\ngo 1.20\n")
    (folder / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    if shutil.which("go") is not None:  # Go's own cache is kept, which lies in the same place
        kept = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True)
        monkeypatch.setenv("GOCACHE", kept.stdout.strip())
    monkeypatch.setattr(binaries, "MODULES", tmp_path / "modules")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@needs_go
def test_a_program_is_built_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs; and when it is there, no compiler is needed."""
    _SMALL.build(nothing)
    done = subprocess.run([str(_SMALL.program("small"))], capture_output=True, check=True)
    assert done.stderr == b"hello\n"
    monkeypatch.setenv("PATH", "")
    _SMALL.build(nothing)


@needs_go
def test_what_does_not_build_leaves_nothing(source: Path) -> None:
    """The compiler's words are in the error, and no folder looks as if it were finished."""
    (source / "main.go").write_text("package main\n\nfunc main() { missing() }\n")
    with pytest.raises(BuildError, match="missing"):
        _SMALL.build(nothing)
    assert not _SMALL.folder.exists()


@needs_go
def test_an_interrupted_build_is_begun_anew(source: Path) -> None:
    """What an interrupted build left is not taken for a program."""
    unfinished = _SMALL.folder.with_suffix(".new")
    unfinished.mkdir(parents=True)
    (unfinished / "small").write_text("half a program")
    assert not _SMALL.folder.exists()
    _SMALL.build(nothing)
    assert [file.name for file in _SMALL.folder.iterdir()] == ["small"]
    subprocess.run([str(_SMALL.program("small"))], capture_output=True, check=True)


def test_other_pins_are_another_folder(source: Path) -> None:
    """What a program is made of is in the name of its folder."""
    before = _SMALL.folder
    (source / "go.sum").write_text("example.org/other v1.0.0 h1:x=\n")
    assert _SMALL.folder != before


def test_without_go_it_is_said_what_is_missing(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the compiler and where to get it."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"Go, which is not there: see go\.dev"):
        _SMALL.build(nothing)


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.name)
def test_every_module_is_pinned(module: Module) -> None:
    """Each has its pins, with the hashes of all that it is made of."""
    assert {"go.mod", "go.sum"} <= {file.name for file in module.source.iterdir()}
    assert "replace" not in (module.source / "go.mod").read_text(encoding="utf-8").split()
