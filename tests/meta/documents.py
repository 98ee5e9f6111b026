"""Finds the Python snippets in the project's documents, and the files that they read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(r"( *)(`{3,})(\S*)\s*")
_FILE = re.compile(r"<!-- file: (\S+) -->")
_NO_RUN = re.compile(r"<!-- no-run: (\S.*) -->")


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its language, where it starts, its text, and what the comment before it says.

    `no_run` is why it is not run, `file` what it is the content of; `None`: no such comment.
    """

    document: Path
    language: str
    line: int
    text: str
    no_run: str | None
    file: str | None


def documents() -> list[Path]:
    """Return both README.md files and every Markdown page of docs/, as far as they exist."""
    front = [REPO / "README.md", REPO / "instrumentation" / "README.md"]
    pages = [*front, *sorted((REPO / "docs").rglob("*.md"))]
    return [page for page in pages if page.exists()]


def snippets(document: Path) -> list[Snippet]:
    """Return the Python blocks of a document in their order.

    A comment `<!-- no-run: reason -->` on the last line with text before a block keeps it from
    being run.
    """
    return [block for block in _blocks(document) if block.language == "python"]


def files(document: Path) -> dict[str, str]:
    """Return the files that a document shows, by name: the blocks behind `<!-- file: name -->`."""
    return {block.file: block.text for block in _blocks(document) if block.file is not None}


def _blocks(document: Path) -> list[Snippet]:
    found = []
    lines = iter(enumerate(document.read_text(encoding="utf-8").splitlines(), 1))
    before = ""
    for number, line in lines:
        fence = _FENCE.fullmatch(line)
        if fence is None:
            before = line.strip() or before
            continue
        indent, ticks, language = fence.groups()
        body = []
        for _, inner in lines:
            if inner.strip() == ticks:
                break
            body.append(inner.removeprefix(indent))
        reason, name = _NO_RUN.fullmatch(before), _FILE.fullmatch(before)
        text = "\n".join(body) + "\n"
        said = (reason and reason[1], name and name[1])
        found.append(Snippet(document, language, number + 1, text, *said))
        before = ""
    return found
