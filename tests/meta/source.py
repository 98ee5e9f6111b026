"""The project's own files, as data: what the tests about the project look at."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGES = {"lovia": REPO / "lovia", "lovia_otel": REPO / "instrumentation" / "lovia_otel"}


@dataclass(frozen=True)
class Module:
    """One Python file of a distribution."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Import:
    """An absolute name that an import statement names, and whether only type checkers see it."""

    target: str
    line: int
    type_only: bool


@cache
def modules(package: str) -> tuple[Module, ...]:
    """Return every module of `package`, parsed, in the order of their names."""
    root = PACKAGES[package]
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, text, ast.parse(text, filename=str(path))))
    return tuple(found)


@cache
def tracked_files() -> tuple[Path, ...]:
    """Return every file of the checkout that is, or is about to be, under version control."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return tuple(path for name in listing.split("\0") if name and (path := REPO / name).is_file())


def imports(module: Module) -> Iterator[Import]:
    """Yield what `module` imports, anywhere in it; `from a import b` counts as a.b."""
    type_only = {
        id(inner)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and _is_type_checking(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            yield Import(target, node.lineno, id(node) in type_only)


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package.pop()
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)
