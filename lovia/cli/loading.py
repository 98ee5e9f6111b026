"""Reading the files of a command: each problem is told at once, and the others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.cli.console import error_console, printable
from lovia.errors import LoviaError, UserError
from lovia.replay.session import load_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.replay.session import RecordedSession

__all__ = ["load_sessions", "tell"]


def load_sessions(files: Sequence[str]) -> tuple[list[RecordedSession], bool]:
    """Read transcripts; return those that can be read, and whether that is all of them.

    Raises:
        UserError: No file was named.
        LoviaError: The only file cannot be read.
    """
    if not files:
        message = "No transcript was named."
        raise UserError(message, hint="Name at least one file, such as session.json.")
    sessions: list[RecordedSession] = []
    for file in files:
        try:
            sessions.append(load_session(file))
        except LoviaError as error:
            if len(files) == 1:
                raise
            tell(error)
    return sessions, len(sessions) == len(files)


def tell(error: LoviaError) -> None:
    """Print an error and its hint on standard error."""
    console = error_console()
    console.print(f"lovia: {printable(error.message, limit=1000)}", style="red", soft_wrap=True)
    if error.hint:
        console.print(f"hint: {printable(error.hint, limit=1000)}", soft_wrap=True)
