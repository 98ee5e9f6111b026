"""`lovia demo`: the session that the README's first command shows."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from lovia.cli import main
from lovia.demo import session as demo_session
from lovia_otel import read_recording
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Run the demo as a person does, and return what it printed and where its files are."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "lovia", "demo", "--out", str(folder)],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout, folder


def test_the_demo_shows_all_five_sights(shown: tuple[str, Path]) -> None:
    """An archived result, a snip, a clearing, a summary and a refusal happen in one session."""
    out, folder = shown
    assert "MISSING" not in out
    assert out.count("shown    ") == len(demo_session.SIGHTS) == 5
    assert "refused by the endpoint" in out
    assert list((folder / "archive" / "tool-results").rglob("*.txt"))


def test_the_demo_prints_sizes_per_turn_and_the_totals(shown: tuple[str, Path]) -> None:
    """There is a row for each turn, and the sums with net at the end."""
    out, _ = shown
    rows = [line for line in out.splitlines() if line.lstrip()[:2].strip().isdigit()]
    assert len(rows) >= 20
    assert "what happened" in out
    assert "= net" in out


def test_the_trace_holds_the_passes_with_their_stages(shown: tuple[str, Path]) -> None:
    """The exported spans tell the same story: passes below turns, a fold, a refused call."""
    out, folder = shown
    recording = read_recording(folder / "trace.jsonl")
    assert [span.name for span in recording.roots] == ["invoke_agent explorer"]
    passes = recording.named("compact_context")
    assert len(passes) >= 4
    assert out.count("compact_context ") >= len(passes)
    assert recording.named("fold_chunk")
    assert any(span.status == "error" for span in recording.named("chat"))
    assert recording.points


def test_the_report_and_the_trace_are_named(shown: tuple[str, Path]) -> None:
    """The last lines say where everything is, and it is there."""
    out, folder = shown
    assert "trace.jsonl" in out
    assert "lovia view" in out
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_session_that_lacks_a_sight_says_so(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a window that nothing outgrows the demo does not claim what it did not show."""
    monkeypatch.setattr(demo_session, "WINDOW_SERVED", 500_000)
    monkeypatch.setattr(demo_session, "WINDOW_CONFIGURED", 500_000)
    assert main(["demo", "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "MISSING  a refused request" in out
    assert "did not show everything" in out


def test_the_session_can_be_drawn(tmp_path: Path, capsys: Captured) -> None:
    """--picture draws what was printed into an SVG file that loads nothing from elsewhere."""
    picture = tmp_path / "demo.svg"
    assert main(["demo", "--out", str(tmp_path), "--picture", str(picture)]) == 0
    drawn = ET.parse(picture)
    words = "".join(drawn.getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert "refused by the endpoint" in words
    assert "url(http" not in picture.read_text(encoding="utf-8")
    assert main(["demo", "--out", str(tmp_path), "--picture", str(tmp_path / "no" / "x.svg")]) == 2
    assert "x.svg" in capsys.readouterr().err


def test_an_unusable_folder_ends_with_2(tmp_path: Path, capsys: Captured) -> None:
    """Output that has no place to go is refused before the session starts."""
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "folder")]) == 2
    assert "hint: " in capsys.readouterr().err
