"""Reads the parts of docs/architecture.md that are compared with the code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.paths import REPO

DOCUMENT = REPO / "docs" / "architecture.md"


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


def tree() -> list[Line]:
    """Return the tree block: a path a line, two spaces of indent per folder, a description."""
    text = DOCUMENT.read_text(encoding="utf-8")
    block = re.search(r"^```tree\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if block is None:
        raise AssertionError(f"{DOCUMENT.name} has no block fenced with ```tree")
    lines: list[Line] = []
    folders: list[str] = []
    for line in block[1].splitlines():
        match = re.fullmatch(r"( *)(\S+)(?: {2,}(.+))?", line)
        if match is None or len(match[1]) % 2:
            raise AssertionError(f"{DOCUMENT.name}: not a line of the tree: {line!r}")
        depth = len(match[1]) // 2
        folders = folders[:depth]
        lines.append(Line("".join(folders) + match[2], match[3] or ""))
        if match[2].endswith("/"):
            folders.append(match[2])
    return lines
