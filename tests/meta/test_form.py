"""Files and functions stay small, and old exceptions only shrink."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.meta.source import Module, modules
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 60

# Files and functions that are longer than that, with the length they may have. The numbers may
# fall and the entries go; a test below fails when one is no longer needed.
LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}


def _python_files() -> list[Path]:
    roots = (REPO / "lovia", REPO / "instrumentation", REPO / "dashboards", REPO / "benchmarks")
    return sorted(path for root in roots for path in root.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function of a file by its name, with its lines, the docstring left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                docstring = node.body[0]
                length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield f"{_name(path)}:{node.name}", length


@pytest.mark.parametrize("path", _python_files(), ids=_name)
def test_a_file_holds_one_concept(path: Path) -> None:
    """No file is longer than 400 lines."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONG_FILES.get(_name(path), FILE_LINES)


@pytest.mark.parametrize("path", _python_files(), ids=_name)
def test_a_function_does_one_thing(path: Path) -> None:
    """No function is longer than 60 lines, its docstring not counted."""
    long = {
        name: length
        for name, length in _functions(path)
        if length > LONG_FUNCTIONS.get(name, FUNCTION_LINES)
    }
    assert long == {}


def test_exceptions_are_still_needed() -> None:
    """Each entry of the two lists names something that exists and is exactly that long."""
    files = {_name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in _python_files()}
    functions = dict(pair for path in _python_files() for pair in _functions(path))
    assert {name: files.get(name) for name in LONG_FILES} == LONG_FILES
    assert {name: functions.get(name) for name in LONG_FUNCTIONS} == LONG_FUNCTIONS


@pytest.mark.parametrize("package", ["lovia", "lovia_otel"])
def test_a_package_shows_only_re_exports(package: str) -> None:
    """The `__init__` of a distribution imports and lists names, and defines nothing heavy."""
    root: Module = modules(package)[0]
    assert root.name == package
    defined = [node for node in root.tree.body if isinstance(node, ast.ClassDef)]
    assert defined == []
