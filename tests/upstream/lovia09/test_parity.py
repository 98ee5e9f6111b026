"""Programs written for the core of the 0.9 line print the same with that package and with ours.

`printed.json` is what they print with the package of the 0.9 line, so that every change here is
held to it without that package at hand. With LOVIA_UPSTREAM=1 the package itself is asked, in an
environment of its own. A new program is recorded by `running.py`, run in that environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.upstream.environments import SWITCH
from tests.upstream.lovia09.conftest import FORMER

_HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in _HERE.glob("program_*.py"))
RECORDED: dict[str, list[str]] = json.loads((_HERE / "printed.json").read_text(encoding="utf-8"))


def printed(python: str | Path, *options: str, cwd: Path, **surroundings: str) -> Any:
    """Run all programs with an interpreter and return what each printed."""
    command = [str(python), *options, str(_HERE / "running.py")]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sys.stderr.write(done.stderr)  # pytest shows it beside a program that printed something else
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the programs print with this package; each of its warnings is an error."""
    cwd = tmp_path_factory.mktemp("ours")
    return printed(sys.executable, "-W", "error", cwd=cwd, **os.environ)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_what_it_printed_with_the_former_line(program: str, ours: Any) -> None:
    """A program of the 0.9 line runs unchanged, to the same end."""
    assert ours[program] == RECORDED[program]


def test_every_program_is_recorded() -> None:
    """There is a record of each program, and of nothing else; none of them ended in an error."""
    assert sorted(RECORDED) == PROGRAMS
    assert [name for name, lines in RECORDED.items() if lines[-1].startswith("raised ")] == []


@pytest.mark.skipif(os.environ.get(SWITCH) != "1", reason=f"set {SWITCH}=1 to run {FORMER}")
@pytest.mark.usefixtures("former")
def test_the_former_line_prints_what_is_recorded(ours: Any, tmp_path: Path) -> None:
    """Asked itself, the package of the 0.9 line prints what is recorded, and what ours prints."""
    # Without PYTHONPATH: what lies on it has a package of the same name.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    theirs = printed(FORMER.python, cwd=tmp_path, **surroundings)
    assert theirs == RECORDED
    assert theirs == ours
