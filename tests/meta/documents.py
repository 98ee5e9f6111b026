"""Finds the Python snippets in the project's documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

_FENCE = re.compile(r"( *)(`{3,})(\S*)\s*")
_NO_RUN = re.compile(r"<!-- no-run: (\S.*) -->")


@dataclass(frozen=True)
class Snippet:
    """A block fenced as `python`: where it starts, its text, and why it is not run, if so."""

    document: Path
    line: int
    text: str
    no_run: str | None


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
        if language == "python":
            reason = _NO_RUN.fullmatch(before)
            text = "\n".join(body) + "\n"
            found.append(Snippet(document, number + 1, text, reason and reason[1]))
        before = ""
    return found
