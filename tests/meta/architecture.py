"""Reads the parts of docs/architecture.md that are compared with the code.

`python -m tests.meta.architecture` brings the tree in line with the files: lines of modules that
are gone go, and new modules get a line with the first sentence of their docstring, to be shortened
by hand.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.meta.source import PACKAGES, modules
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCUMENT = REPO / "docs" / "architecture.md"
_BLOCK = re.compile(r"(?<=^```tree\n).*?(?=^```)", re.MULTILINE | re.DOTALL)
_DESCRIPTION_COLUMN = 34


def table(first_heading: str) -> list[list[str]]:
    """Return the rows of the table whose first column is headed `first_heading`, as plain text."""
    rows: list[list[str]] = []
    inside = False
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == first_heading:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            rows.append(cells)
    if not rows:
        raise AssertionError(f"{DOCUMENT.name} has no table headed {first_heading!r}")
    return rows


@dataclass(frozen=True)
class Line:
    """One line of the tree: a path relative to the checkout (folders end in /) and what it is."""

    path: str
    description: str

    @property
    def parent(self) -> str:
        """The folder that the path stands in, with its slash; empty at the top."""
        return self.path[: self.path.rstrip("/").rfind("/") + 1]

    def __str__(self) -> str:
        indent = "  " * self.parent.count("/")
        name = f"{indent}{self.path.removeprefix(self.parent)}"
        return f"{name:<{_DESCRIPTION_COLUMN - 2}}  {self.description}"


def tree() -> list[Line]:
    """Return the tree block: a path a line, two spaces of indent per folder, a description."""
    block = _BLOCK.search(DOCUMENT.read_text(encoding="utf-8"))
    if block is None:
        raise AssertionError(f"{DOCUMENT.name} has no block fenced with ```tree")
    lines: list[Line] = []
    folders: list[str] = []
    for line in block[0].splitlines():
        match = re.fullmatch(r"( *)(\S+)(?: {2,}(.+))?", line)
        if match is None or len(match[1]) % 2:
            raise AssertionError(f"{DOCUMENT.name}: not a line of the tree: {line!r}")
        depth = len(match[1]) // 2
        folders = folders[:depth]
        lines.append(Line("".join(folders) + match[2], match[3] or ""))
        if match[2].endswith("/"):
            folders.append(match[2])
    return lines


def built() -> list[Line]:
    """Return a line for each module and each folder of modules, described by its docstring."""
    lines = []
    for module in (module for package in PACKAGES for module in modules(package)):
        path = module.path.relative_to(REPO).as_posix()
        first = (ast.get_docstring(module.tree) or "").partition("\n")[0].rstrip(".")
        lines.append(Line(path.removesuffix("__init__.py"), first))
    return lines


def in_line(lines: Iterable[Line]) -> list[Line]:
    """Return the lines without those of files that are gone, and with those of new modules."""
    kept = [line for line in lines if (REPO / line.path).exists()]
    stated = {line.path for line in kept}
    for new in built():
        if new.path not in stated:
            kept.insert(_place(kept, new), new)
    return kept


def _place(lines: list[Line], new: Line) -> int:
    """Return where a line belongs: in its folder, in the order of names, folders before files."""

    def rank(line: Line) -> tuple[bool, str]:
        return (not line.path.endswith("/"), line.path)

    place = next(i for i, line in enumerate(lines, 1) if line.path == new.parent)
    while place < len(lines) and lines[place].path.startswith(new.parent):
        if lines[place].parent == new.parent and rank(lines[place]) > rank(new):
            break
        place += 1
    return place


def main() -> None:
    """Rewrite the tree block of the document."""
    block = "".join(f"{line}\n" for line in in_line(tree()))
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(_BLOCK.sub(lambda _: block, text, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
