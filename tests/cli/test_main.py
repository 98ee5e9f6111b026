"""The command as a whole: exit codes, what is missing, who stops listening."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lovia.cli import main
from tests.cli.support import TALK, write_talk

if TYPE_CHECKING:
    from pathlib import Path

LOVIA = [sys.executable, "-m", "lovia"]


@pytest.mark.parametrize("package", ["rich", "cyclopts", "jinja2"])
def test_a_missing_library_is_one_clear_line(package: str, tmp_path: Path) -> None:
    """Without a library of the extra the command says what to install, and ends with 2."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from lovia.cli import main\n"
        f"sys.exit(main(['replay', {str(write_talk(tmp_path))!r}, '--report', 'out.html']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f'The lovia command needs {package}: pip install "lovia[cli]"'
    ]


def test_a_missing_library_of_another_kind_is_no_secret() -> None:
    """An import that fails for another reason is not hidden behind advice about the extra."""
    program = (
        "import sys; sys.modules['lovia.replay.story'] = None\n"
        "from lovia.cli import main\nmain(['--help'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "lovia.replay.story" in done.stderr
    assert "pip install" not in done.stderr


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the commands are listed; the version is the distribution's."""
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("demo", "replay", "compare", "inspect", "view"))
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip().count(".") >= 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["dance"],
        ["replay", "--wndow", "3"],
        ["replay", "x.json", "--window", "many"],
        ["replay", "x.json", "--window", "0"],
        ["replay"],
        ["inspect"],
        ["view"],
        ["compare", "x.json"],
    ],
)
def test_words_that_make_no_sense_end_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A command line that cannot be meant is refused on standard error, without a traceback."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("lovia: ")
    assert "Traceback" not in captured.err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    """Output into a pipe that closes early ends quietly."""
    talk = write_talk(tmp_path, TALK * 30)
    command = subprocess.Popen(
        [*LOVIA, "replay", str(talk), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.read(10)
    command.stdout.close()
    errors = command.stderr.read()
    command.stderr.close()
    assert command.wait() == 0
    assert b"Error" not in errors


def test_a_terminal_of_a_small_alphabet_gets_what_it_can_show(tmp_path: Path) -> None:
    """Output that is limited to ASCII loses characters, not the run."""
    done = subprocess.run(
        [*LOVIA, "replay", str(write_talk(tmp_path)), "--window", "2000"],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    done.stdout.decode("ascii")
