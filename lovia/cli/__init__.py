"""The `lovia` command: demo, replay, compare, inspect, view.

Its libraries come with the extra ``cli``; without them :func:`main` says so instead of failing.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

_EXTRA: Final = frozenset({"rich", "cyclopts", "jinja2"})
_FAILED, _INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done. 1: the demo did not show what it promises. 2: bad input, with the reason on standard
    error. 130: interrupted from the keyboard.

    Args:
        arguments: The words after ``lovia``; ``sys.argv`` when ``None``.
    """
    _tolerate_small_alphabets()
    try:
        from lovia.cli.app import run_command

        with _warnings_told():
            code = run_command(arguments)
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        return _fail(f'The lovia command needs {package}: pip install "lovia[cli]"')
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (`head`, a pager) has seen enough. Nothing may be flushed to it
        # any more, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _tolerate_small_alphabets() -> None:
    """Let output that cannot hold a character show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class _OneLine(logging.Formatter):
    """Writes a logged exception as its kind and its text: people did not ask for our stack."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name it overrides
        """Return the exception on one line."""
        return f"  ({type(ei[1]).__name__}: {ei[1]})"


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Print what the packages log as a warning like everything else that the command says."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("lovia: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("lovia", "lovia_otel")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return _FAILED
