"""Runs the programs beside this file with whatever package `lovia` is there.

`python running.py` prints a JSON object: for each program, the lines that it printed. It needs
nothing but the standard library, as it also runs where the 0.9 line is installed.
"""

from __future__ import annotations

import io
import json
import runpy
import sys
import traceback
import warnings
from contextlib import redirect_stdout
from pathlib import Path


def printed_by(program: Path) -> list[str]:
    """Run a program and return the lines that it printed; an exception is its last line."""
    said = io.StringIO()
    with redirect_stdout(said), warnings.catch_warnings():
        try:
            runpy.run_path(str(program), run_name="__main__")
        except Exception as error:  # noqa: BLE001 - the other programs run all the same
            traceback.print_exc()
            print(f"raised {type(error).__name__}: {error}")  # noqa: T201 - goes into `said`
    return said.getvalue().splitlines()


def main() -> None:
    """Run all programs, one after the other, and print what they printed."""
    programs = sorted(Path(__file__).parent.glob("program_*.py"))
    printed = {program.stem: printed_by(program) for program in programs}
    json.dump(printed, sys.stdout, indent=1, ensure_ascii=False)
    print()  # noqa: T201 - ends the file


if __name__ == "__main__":
    main()
