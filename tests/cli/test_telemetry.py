"""Exporting what a command does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia.cli import main
from lovia_otel import read_recording
from tests.cli.support import write_talk
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that runs during a test."""
    with Receiver() as server:
        yield server


def test_a_replay_is_exported(tmp_path: Path, receiver: Receiver, capsys: Captured) -> None:
    """With --otlp run, turns, calls and passes arrive at the receiver, and metrics too."""
    talk = write_talk(tmp_path)
    assert main(["replay", str(talk), "--window", "2000", "--otlp", receiver.url]) == 0
    names = receiver.span_names()
    assert names.count("invoke_agent recording") == 1
    assert names.count("agent_turn") == names.count("chat") == 24
    assert names.count("compact_context") >= 1
    assert {path for path, _ in receiver.bodies} >= {"/v1/traces", "/v1/metrics"}
    assert capsys.readouterr().err == ""


def test_the_demo_is_exported_beside_its_file(
    tmp_path: Path, receiver: Receiver, capsys: Captured
) -> None:
    """With --otlp the demo's spans go to the receiver as well as into the trace file."""
    assert main(["demo", "--out", str(tmp_path), "--otlp", receiver.url]) == 0
    names = receiver.span_names()
    assert "invoke_agent explorer" in names
    written = [span.name for span in read_recording(tmp_path / "trace.jsonl").spans]
    assert sorted(names) == sorted(written)
    assert receiver.url in capsys.readouterr().out


def test_a_receiver_that_is_down_costs_a_warning(tmp_path: Path, capsys: Captured) -> None:
    """The work is done and the exit code is that of the work."""
    talk = write_talk(tmp_path)
    assert main(["replay", str(talk), "--otlp", "http://127.0.0.1:9", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("{")
    assert "telemetry could not" in captured.err
