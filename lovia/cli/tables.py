"""Replays as tables for the terminal."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich import box
from rich.table import Table
from rich.text import Text

from lovia.cli.console import number, printable
from lovia.replay.palette import HISTORY, NET, REQUEST, SAVED, SUMMARY_COST, TROUBLE, WINDOW
from lovia.replay.story import count, describe_turn, short, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lovia.replay.compare import Comparison
    from lovia.replay.estimate import UsageComparison
    from lovia.replay.palette import Swatch
    from lovia.replay.result import ReplayResult, ReplayTotals, ReplayTurn

__all__ = [
    "add_turn",
    "comparison_table",
    "estimate_table",
    "totals_line",
    "totals_sentence",
    "turn_table",
    "turns_table",
]

#: Up to this many calls a table shows each of them; beyond, runs of quiet calls share a row.
_SHORT: Final = 40


def turn_table() -> Table:
    """Return an empty table of turns."""
    table = _table()
    table.add_column("turn", justify="right")
    for swatch in (HISTORY, REQUEST, SAVED, SUMMARY_COST):
        name = "cost" if swatch is SUMMARY_COST else swatch.label.lower()
        table.add_column(Text(name, style=swatch.terminal), justify="right")
    table.add_column("what happened", ratio=1)
    return table


def turns_table(result: ReplayResult, *, every: bool = False) -> Table:
    """Return the table of a replay; quiet runs of long ones are folded unless ``every``."""
    table = turn_table()
    if every or len(result.turns) <= _SHORT:
        for turn in result.turns:
            add_turn(table, turn)
        return table
    last = len(result.turns)
    for quiet, group in groupby(result.turns, key=lambda t: not t.passes and not t.overflow):
        turns = list(group)
        if not quiet or len(turns) == 1:
            for turn in turns:
                add_turn(table, turn)
        else:
            words = f"{len(turns):,} quiet calls" + (
                " to the end" if turns[-1].index == last else ""
            )
            _add_row(table, f"{turns[0].index:,}-{turns[-1].index:,}", turns[-1], words, dim=True)
    return table


def add_turn(table: Table, turn: ReplayTurn) -> None:
    """Add one turn as a row."""
    story = describe_turn(turn)
    words = story or ("" if turn.view == "original" else "earlier decisions replayed")
    _add_row(table, f"{turn.index:,}", turn, words, dim=not story)


def totals_line(totals: ReplayTotals) -> Table:
    """Return the five numbers side by side."""
    table = Table.grid(padding=(0, 3))
    saved = Text.assemble(number(totals.saved, SAVED, brief=True))
    cells: list[tuple[Swatch, Text, str]] = [
        (HISTORY, number(totals.history, HISTORY, brief=True), "at its largest"),
        (
            REQUEST,
            number(totals.request_mean, REQUEST, brief=True),
            f"mean, {short(totals.request_peak)} at most",
        ),
        (SAVED, saved, f"over {totals.turns:,} calls"),
        (
            SUMMARY_COST,
            number(totals.summary_cost, SUMMARY_COST, brief=True),
            f"in {totals.passes:,} passes",
        ),
        (NET, number(totals.net, NET, brief=True), "saved minus cost"),
    ]
    table.add_row(*(Text(s.label.lower(), style=s.terminal) for s, _, _ in cells))
    table.add_row(*(Text(value.plain, style=f"bold {s.terminal}") for s, value, _ in cells))
    table.add_row(*(Text(note, style="dim") for _, _, note in cells))
    return table


def totals_sentence(totals: ReplayTotals) -> Text:
    """Say how saved and net come about."""
    return Text.assemble(
        f"Without compaction {totals.uncompacted:,} tokens; sent ",
        (count(totals.sent), REQUEST.terminal),
        "; saved ",
        (count(totals.saved), SAVED.terminal),
        " - summary cost ",
        (count(totals.summary_cost), SUMMARY_COST.terminal),
        " = net ",
        (count(totals.net), NET.terminal),
        " tokens.",
    )


def estimate_table(comparison: UsageComparison) -> Table:
    """Return the comparison of estimate and provider, segment by segment."""
    table = _table("Estimate of the history against the provider's recorded count")
    for name in ("messages", "calls", "fitted offset", "mean error left", "largest error"):
        table.add_column(name, justify="right")
    table.add_column("tokens per estimated", justify="right")
    table.add_column("mean error of a line", justify="right")
    for segment in comparison.segments:
        slope = "-" if segment.slope is None else f"{segment.slope:.3f}"
        table.add_row(
            f"{segment.first.message:,}-{segment.last.message:,}",
            count(segment.calls),
            signed(segment.offset),
            f"{segment.error:,} ({segment.relative_error:.1%})",
            count(segment.largest_error),
            slope,
            count(segment.line_error),
        )
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Return a table with a row for each policy below each recording, and the sums at the end."""
    table = _table()
    table.add_column("policy", overflow="fold", ratio=1)
    table.add_column("calls", justify="right")
    table.add_column("passes", justify="right")
    for swatch, name in _COMPARED:
        table.add_column(Text(name, style=swatch.terminal), justify="right")
    table.add_column(Text("overflow", style=TROUBLE.terminal), justify="right")
    for row in comparison.results:
        _add_contenders(table, row[0].name, comparison.contenders, [r.totals for r in row])
    if len(comparison.results) > 1:
        numbers = range(len(comparison.contenders))
        sums = [comparison.totals(number) for number in numbers]
        _add_contenders(table, "all", comparison.contenders, sums)
    return table


_COMPARED: Final[Sequence[tuple[Swatch, str]]] = (
    (HISTORY, "history"),
    (REQUEST, "request"),
    (REQUEST, "largest"),
    (SAVED, "saved"),
    (SUMMARY_COST, "cost"),
    (NET, "net"),
)


def _add_contenders(
    table: Table, name: str, labels: Iterable[str], totals: Sequence[ReplayTotals]
) -> None:
    table.add_row(Text(printable(name, limit=40), style="bold"))
    best = max(t.net for t in totals)
    for position, (label, t) in enumerate(zip(labels, totals, strict=True)):
        winner = t.net == best and not t.overflows and len(totals) > 1
        table.add_row(
            Text(f"  {printable(label, limit=80)}", style="bold" if winner else ""),
            count(t.turns),
            count(t.passes),
            number(t.history, HISTORY),
            number(t.request_mean, REQUEST),
            number(t.request_peak, REQUEST),
            number(t.saved, SAVED),
            number(t.summary_cost, SUMMARY_COST),
            Text(count(t.net), style="bold" if winner else ""),
            number(t.overflows, TROUBLE) if t.overflows else "",
            end_section=position == len(totals) - 1,
        )


def _table(title: str | None = None) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )


def _add_row(table: Table, index: str, turn: ReplayTurn, words: str, *, dim: bool) -> None:
    cost = number(turn.summary_cost, SUMMARY_COST) if turn.summary_cost else Text("")
    table.add_row(
        Text(index, style="dim" if dim else ""),
        number(turn.history, HISTORY),
        number(turn.request, TROUBLE if turn.overflow else REQUEST),
        number(turn.saved, SAVED if turn.saved else WINDOW),
        cost,
        Text(printable(words, limit=400), style="dim" if dim else ""),
    )
