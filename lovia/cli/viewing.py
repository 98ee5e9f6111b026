"""`lovia view`: the compaction story of an exported trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.cli.console import error_console, printable, result_console
from lovia.cli.spans import span_trees
from lovia.errors import UserError
from lovia_otel import read_recording

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lovia_otel import Recording

__all__ = ["print_story", "run_view"]

_BAD_INPUT = 2
#: Damaged lines that are told one by one; the rest is counted.
_TOLD = 5


def run_view(files: Sequence[Path], *, every: bool) -> int:
    """Print the span trees of traces, and what could not be read.

    Raises:
        UserError: No file was named, or nothing in them is a span.
        OSError: A file cannot be read.
    """
    if not files:
        message = "No trace was named."
        raise UserError(message, hint="Name a file of OTLP JSON lines, such as trace.jsonl.")
    recording = read_recording(*files, strict=False)
    if not recording.spans:
        message = f"There are no spans in {', '.join(map(str, files))}."
        first = f" First damage: {recording.damaged[0].message}." if recording.damaged else ""
        hint = f"A trace is a file of OTLP JSON lines, one object with resourceSpans a line.{first}"
        raise UserError(message, hint=hint)
    print_story(recording, every=every)
    _tell_damage(recording)
    return 0


def print_story(recording: Recording, *, every: bool = False) -> None:
    """Print a recording's span trees on standard output."""
    console = result_console()
    for tree in span_trees(recording, every=every):
        console.print(tree)


def _tell_damage(recording: Recording) -> None:
    console = error_console()
    for damage in recording.damaged[:_TOLD]:
        text = f"lovia: skipped a damaged line: {printable(damage.message)}"
        console.print(text, style="yellow", soft_wrap=True)
    more = len(recording.damaged) - _TOLD
    if more > 0:
        console.print(f"lovia: and {more:,} more damaged lines", style="yellow")
