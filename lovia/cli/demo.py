"""`lovia demo`: a session printed turn by turn, its totals, its span tree, its report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from rich.text import Text

from lovia.cli.console import printable, result_console, save_picture
from lovia.cli.tables import totals_line, totals_sentence
from lovia.cli.telemetry import exported
from lovia.cli.viewing import print_story
from lovia.demo import DemoSession, find_workspace
from lovia.demo.session import WINDOW_CONFIGURED, WINDOW_SERVED
from lovia.errors import UserError
from lovia.replay.palette import HISTORY, REQUEST, SAVED, SUMMARY_COST, TROUBLE, WINDOW
from lovia.replay.report import write_report
from lovia.replay.story import count, signed
from lovia_otel import read_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from lovia.demo import DemoTurn
    from lovia.replay.palette import Swatch
    from lovia.replay.result import ReplayPass

__all__ = ["run_demo"]

_BAR: Final = 16  # characters of the bar that shows how full the window is
_COLUMNS: Final[Sequence[tuple[str, int, Swatch]]] = (
    ("turn", 4, WINDOW),
    ("history", 9, HISTORY),
    ("request", 9, REQUEST),
    ("saved", 9, SAVED),
    ("cost", 7, SUMMARY_COST),
)


def run_demo(out: Path | None, otlp: str | None, picture: Path | None = None) -> int:
    """Run and print the session; 0 when it showed everything that it promises, else 1.

    Raises:
        UserError: The folder or the file for the output cannot be used.
    """
    folder = _prepare(out)
    trace, report = folder / "trace.jsonl", folder / "report.html"
    trace.unlink(missing_ok=True)
    console = result_console(record=picture is not None)
    session = DemoSession(find_workspace(Path.cwd()), folder / "archive")
    _print_opening(console, session)
    with exported(otlp, file=trace):
        anyio.run(session.run, lambda turn: _print_turn(console, turn))
    console.print()
    console.print(totals_line(session.result.totals))
    console.print(totals_sentence(session.result.totals))
    console.print()
    if picture is not None:
        save_picture(console, picture, title="lovia demo")
    print_story(read_recording(trace))
    write_report(report, [session.result], title="A session, compacted")
    return _print_end(console, session, {"trace": trace, "report": report}, otlp)


def _prepare(out: Path | None) -> Path:
    if out is None:
        return Path(tempfile.mkdtemp(prefix="lovia-demo-"))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"Cannot use {out} for the demo's output: {error.strerror or error}."
        raise UserError(message, hint="Name a folder that can be made.") from None
    return out


def _print_opening(console: Console, session: DemoSession) -> None:
    console.print(Text("An agent session outgrows its context window", style="bold"))
    source = "this checkout" if session.workspace.package != "." else "the package's own source"
    console.print(
        f"Real tools on {source}, and a scripted model. Its window: {WINDOW_CONFIGURED:,} tokens "
        f"as configured, {WINDOW_SERVED:,} as served.",
        style="dim",
    )
    console.print()
    header = Text()
    for name, width, swatch in _COLUMNS:
        header.append(f"{name:>{width}}  ", style=f"bold {swatch.terminal}")
    header.append("window".ljust(_BAR + 2), style="bold")
    header.append("what happened", style="bold")
    console.print(header)


def _print_turn(console: Console, turn: DemoTurn) -> None:
    record = turn.record
    for done in record.passes:
        _print_pass(console, done)
    values = (record.index, record.history, record.request, record.saved, record.summary_cost)
    line = Text()
    for (name, width, swatch), value in zip(_COLUMNS, values, strict=True):
        shown = "" if name == "cost" and not value else count(value)
        line.append(f"{shown:>{width}}  ", style=swatch.terminal if value else "dim")
    line.append(_bar(record.request, record.window or WINDOW_SERVED, console))
    calls = ", ".join(turn.calls) or "answers"
    line.append(f"  {printable(calls, limit=60)}", style="" if turn.calls else "bold")
    console.print(line, no_wrap=True, overflow="ellipsis")


def _print_pass(console: Console, done: ReplayPass) -> None:
    """Print what a pass did, above the turn whose request it made smaller."""
    line = Text(f"{'':4}  -> ")
    if done.reactive:
        line.append("refused by the endpoint: ", style=f"bold {TROUBLE.terminal}")
    line.append(f"compact_context {done.before:,} to {done.after:,}", style="bold cyan")
    line.append(f", freed {done.freed:,}", style=SAVED.terminal)
    console.print(line)
    acted = [stage for stage in done.stages if stage.outcome not in {"noop", "skipped"}]
    for stage in acted:
        change = signed(stage.after - stage.before) if stage.outcome == "applied" else stage.outcome
        told = Text.assemble(f"{'':9}{stage.name:<21} ", (f"{change:>8}", SAVED.terminal))
        told.append(f"  {printable(stage.note or '')}", style="dim")
        console.print(told, no_wrap=True, overflow="ellipsis")


def _bar(request: int, window: int, console: Console) -> Text:
    full = min(_BAR, round(_BAR * request / window))
    solid, hollow = ("█", "░") if console.encoding.startswith("utf") else ("#", ".")
    return Text.assemble((solid * full, REQUEST.terminal), (hollow * (_BAR - full), "dim"))


def _print_end(
    console: Console, session: DemoSession, files: dict[str, Path], otlp: str | None
) -> int:
    """Say what was shown and where everything is."""
    sights = session.sights()
    for sight, shown in sights.items():
        mark = ("shown    ", SAVED.terminal) if shown else ("MISSING  ", "bold red")
        console.print(Text.assemble(mark, sight))
    console.print()
    for name, file in files.items():
        console.print(f"{name:>7}  {_place(file)}", soft_wrap=True)
    console.print(f"{'again':>7}  lovia view {_place(files['trace'])}", soft_wrap=True)
    if otlp is not None:
        console.print(f"{'otlp':>7}  {printable(otlp)}", soft_wrap=True)
    if all(sights.values()):
        return 0
    console.print("The session did not show everything that it promises.", style="bold red")
    return 1


def _place(file: Path) -> str:
    """Return a path as short as it can be used from here."""
    here = Path.cwd()
    place = file.resolve()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)
