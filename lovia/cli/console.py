"""The two consoles, and how the four numbers look on them.

Results go to standard output; progress, notes and errors to standard error, so that ``--json`` and
pipes get results alone. Text of recordings is hostile: nothing of it reaches a terminal before it
has passed through :func:`printable`.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from lovia.errors import UserError
from lovia.replay.story import count, short
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lovia.replay.palette import Swatch
    from lovia.replay.result import ReplayTurn

__all__ = [
    "error_console",
    "number",
    "print_json",
    "printable",
    "progress",
    "result_console",
    "save_picture",
]

#: Columns when nobody looks through a terminal: enough for the widest table.
_WIDTH: Final = 120
#: Below this many calls a recording is replayed before a progress bar could be read.
_LONG: Final = 100
#: The fonts that rich's drawing would fetch from elsewhere (any monospace font does), and a remark.
_FETCHED: Final = re.compile(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->\s*", re.DOTALL)
#: What steers a terminal is shown as a replacement, what reorders text is left out.
_CONTROLS: Final = {
    **dict.fromkeys([*range(32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], ""),
}


def result_console(*, record: bool = False) -> Console:
    """Return the console on standard output; one that records can be made a picture of."""
    return _console(sys.stdout, record=record)


def error_console() -> Console:
    """Return the console on standard error."""
    return _console(sys.stderr)


def printable(text: str, *, limit: int = 200) -> str:
    """Return text that cannot steer a terminal: one line, no control characters, bounded length."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return clean_text(" ".join(text.split())).translate(_CONTROLS)


def number(value: int | None, swatch: Swatch, *, brief: bool = False) -> Text:
    """Return a number in its colour."""
    return Text(short(value) if brief else count(value), style=swatch.terminal, justify="right")


def print_json(value: Any) -> None:
    """Print one JSON document on standard output, in ASCII so that every pipe takes it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


@contextmanager
def progress(
    *, quiet: bool = False
) -> Iterator[Callable[[str], Callable[[ReplayTurn, int], None]]]:
    """Show progress on standard error while recordings are replayed.

    Yields a function that starts a recording by name and returns its ``on_turn``. The bar appears
    for long recordings only, and only where somebody can see it move.
    """
    console = error_console()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("calls"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )

    def start(name: str) -> Callable[[ReplayTurn, int], None]:
        task = bar.add_task(printable(name, limit=40), total=None, visible=False)

        def on_turn(turn: ReplayTurn, calls: int) -> None:
            visible = calls >= _LONG and turn.index < calls
            bar.update(task, completed=turn.index, total=calls, visible=visible)

        return on_turn

    with bar:
        yield start


def save_picture(console: Console, path: Path, *, title: str) -> None:
    """Write what a recording console printed so far as an SVG picture that loads nothing.

    Raises:
        UserError: The file cannot be written.
    """
    drawing = _FETCHED.sub("", CONSOLE_SVG_FORMAT)
    picture = console.export_svg(title=title, code_format=drawing, unique_id="lovia")
    try:
        path.write_text(clean_text(picture), encoding="utf-8")
    except OSError as error:
        message = f"Cannot write the picture to {path}: {error.strerror or error}."
        raise UserError(message, hint="Name a file in a folder that exists and is yours.") from None


def _console(stream: Any, *, record: bool = False) -> Console:
    width = None if stream.isatty() else _WIDTH
    return Console(
        file=stream, width=width, record=record, highlight=False, markup=False, emoji=False
    )
