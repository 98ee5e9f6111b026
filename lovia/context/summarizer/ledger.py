"""The identifier ledger: what a summary lost of the span's identifiers is appended to it, verbatim.

The ledger is the last section of a summary's text, under a heading of its own, one identifier a
line:

    ## Identifiers (verbatim)
    - `src/app/main.py` x4
    - `exit code 137`

It lives in the text so that a summary is one value wherever it is kept. Text cannot forge one: the
heading is taken out of whatever a summarizer wrote before ours is appended, an identifier holds
neither a line break nor a backtick, and a section in any other form is not read as a ledger.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.identifiers import IdentifierKind, find_identifiers, searchable
from lovia.context.summarizer.scanning import Identifier, scan
from lovia.context.summarizer.threads import is_large, off_loop
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["HEADING", "Ledgered", "split_ledger", "with_ledger"]

HEADING: Final = "## Identifiers (verbatim)"
_ITEM: Final = re.compile(r"- `([^`\n]+)`(?: x(\d{1,9}))?")
_WEIGHTS: Final[dict[IdentifierKind, float]] = {"name": 0.5, "quantity": 0.5}
#: Identifiers that are considered for the ledger, best first.
_MAX_CANDIDATES: Final = 2_000
#: Characters of a summary in which identifiers are looked up; no sensible summary is longer.
_MAX_LOOKUP: Final = 65_536


@dataclass(frozen=True, slots=True)
class Ledgered:
    """A summary with its ledger.

    Attributes:
        text: The summary, the ledger included.
        kept: Identifiers of the span, and of the summary before, that the text holds.
        total: All of them.
    """

    text: str
    kept: int
    total: int


def split_ledger(summary: str) -> tuple[str, list[Identifier]]:
    """Take a summary apart into what the summarizer wrote and the identifiers of its ledger."""
    start = 0 if summary.startswith(HEADING + "\n") else summary.rfind(f"\n{HEADING}\n") + 1
    if start == 0 and not summary.startswith(HEADING + "\n"):
        return summary, []
    items = [_ITEM.fullmatch(line) for line in summary[start:].rstrip("\n").split("\n")[1:]]
    carried = [
        Identifier(item[1], _kind(item[1]), int(item[2] or 1), position=0.0)
        for item in items
        if item is not None
    ]
    if not carried or len(carried) < len(items):
        return summary, []
    return summary[:start].rstrip("\n"), carried


async def with_ledger(
    body: str,
    *,
    originals: Sequence[TranscriptEntry],
    prior_summary: str | None,
    counter: TokenCounter,
    budget: int,
) -> Ledgered:
    """Append to a new summary the identifiers that it lost.

    Args:
        body: What the summarizer wrote.
        originals: The whole entries that the summary newly stands for, oldest first.
        prior_summary: The summary that this one replaces, its ledger included.
        counter: Counts the ledger's tokens.
        budget: Tokens that the ledger may take.

    Returns:
        The summary with its ledger, newest and most used identifiers first, and how many of those
        that were found it keeps. Large spans are scanned in a worker thread.
    """
    body = clean_text(body).replace(HEADING, "## Identifiers").rstrip()
    search = partial(_search, body, originals, prior_summary)
    large = is_large(originals, body + (prior_summary or ""))
    missing, total = await off_loop(search, large=large)
    lines = _within(budget, missing[:_MAX_CANDIDATES], counter)
    text = "\n".join([body, "", HEADING, *lines]) if lines else body
    return Ledgered(text, total - len(missing) + len(lines), total)


def _search(
    body: str, originals: Sequence[TranscriptEntry], prior: str | None
) -> tuple[list[Identifier], int]:
    """Return the identifiers that ``body`` lost, best first, and the number of all."""
    texts = (searchable(entry) for entry in reversed(originals))
    found = _merged(scan(texts, len(originals)), prior)
    shown = body[:_MAX_LOOKUP]
    missing = [item for item in found.values() if item.text not in shown]
    return sorted(missing, key=_rank, reverse=True), len(found)


def _merged(found: dict[str, Identifier], prior: str | None) -> dict[str, Identifier]:
    """Add what the summary before held: its ledger, and the identifiers of its own text."""
    body, carried = split_ledger(prior or "")
    before = [*carried, *scan([body], 1).values()]
    for item in before:
        known = found.get(item.text)
        if known is None:
            found[item.text] = Identifier(item.text, item.kind, item.uses, position=0.0)
        else:
            uses = known.uses + item.uses
            found[item.text] = Identifier(item.text, known.kind, uses, known.position)
    return found


def _kind(text: str) -> IdentifierKind:
    """Return what an identifier of a ledger looks like; out of its sentence, perhaps a name."""
    return next((kind for found, kind in find_identifiers(text) if found == text), "name")


def _rank(item: Identifier) -> float:
    """Weigh use against age: twice the uses count as much as being from the newest text.

    Quoted names and quantities repeat in data and markup without being used, so theirs count half.
    """
    weight = _WEIGHTS.get(item.kind, 1.0)
    return weight * math.log2(1 + item.uses) + item.position


def _within(budget: int, items: Iterable[Identifier], counter: TokenCounter) -> list[str]:
    """Return the lines of the ledger, best first, heading included in the budget."""
    left = budget - counter.text(f"\n\n{HEADING}\n")
    lines = []
    for item in items:
        line = f"- `{clean_text(item.text)}`" + (f" x{item.uses}" if item.uses > 1 else "")
        cost = counter.text(line + "\n")
        if cost <= left:
            lines.append(line)
            left -= cost
    return lines
