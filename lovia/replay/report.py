"""The HTML report: one file, no scripts, nothing loaded from elsewhere.

All text of recordings is hostile; it is escaped by the template engine, and what does not encode or
does not print is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lovia.errors import UserError
from lovia.replay.chart import draw_charts
from lovia.replay.palette import (
    HISTORY,
    NET,
    NUMBERS,
    REQUEST,
    SAVED,
    SUMMARY_COST,
    TROUBLE,
    WINDOW,
)
from lovia.replay.result import ReplayTotals
from lovia.replay.story import count, describe_turn, short, signed
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.replay.chart import Chart
    from lovia.replay.result import ReplayResult

__all__ = ["render_report", "write_report"]

_TEMPLATE: Final = "report.html.j2"
# Control characters have no meaning in HTML; some would hide or reorder what follows.
_CONTROLS: Final = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), 127, *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
    "\ufffd",
)


@dataclass(frozen=True, slots=True)
class _Section:
    """One recording in the report."""

    anchor: str
    result: ReplayResult
    totals: ReplayTotals
    charts: tuple[Chart, ...]


def render_report(results: Sequence[ReplayResult], *, title: str = "Context compaction") -> str:
    """Render replays as one HTML page.

    Args:
        results: At least one replay.
        title: The page's title.

    Raises:
        ModuleNotFoundError: jinja2 is not installed (extra ``cli``).
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # the extra `cli`

    environment = Environment(
        autoescape=True,
        loader=PackageLoader("lovia.replay"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": count, "short": short, "signed": signed}
    environment.globals |= {"describe_turn": describe_turn, "share": _share}
    page = environment.get_template(_TEMPLATE).render(_facts(results, title))
    return clean_text(page).translate(_CONTROLS)


def write_report(path: str | Path, results: Sequence[ReplayResult], *, title: str) -> None:
    """Render replays into a file.

    Raises:
        UserError: The file cannot be written.
    """
    page = render_report(results, title=title)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        message = f"Cannot write the report to {path}: {error.strerror or error}."
        raise UserError(message, hint="Name a file in a folder that exists and is yours.") from None


def _facts(results: Sequence[ReplayResult], title: str) -> dict[str, Any]:
    sections = [
        _Section(f"recording-{number}", result, result.totals, draw_charts(result.turns))
        for number, result in enumerate(results, 1)
    ]
    return {
        "title": title,
        "sections": sections,
        "totals": ReplayTotals.of(tuple(turn for result in results for turn in result.turns)),
        "swatches": (HISTORY, REQUEST, SAVED, SUMMARY_COST, NET, WINDOW, TROUBLE),
        "numbers_meant": NUMBERS,
    }


def _share(part: float, whole: float) -> float:
    """Return a percentage between 0 and 100, for widths and for people."""
    return round(max(0.0, min(100.0, 100 * part / whole)), 1) if whole else 0.0
