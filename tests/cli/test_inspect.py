"""`lovia inspect`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lovia.cli import main
from tests.cli.support import ANSWERS, TALK, write_talk
from tests.paths import TRANSCRIPTS, needs_transcripts

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]
ODD = [
    *TALK[:4],
    {"role": "tool", "tool_call_id": "nobody", "content": "an answer to nothing"},
    {"role": "user", "content": "and now?"},
]


def test_sizes_results_and_batches_are_told(tmp_path: Path, capsys: Captured) -> None:
    """The kinds of entries, the tools, the largest results and the calls are counted."""
    assert main(["inspect", str(write_talk(tmp_path)), "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["messages"] == len(TALK)
    assert facts["model_calls"] == 2 * ANSWERS
    assert facts["tools"] == {"read_file": ANSWERS}
    assert (facts["batches"], facts["most_parallel_calls"]) == (ANSWERS, 1)
    assert facts["kinds"]["tool_result"]["entries"] == ANSWERS
    assert facts["estimated_tokens"] == sum(k["estimated_tokens"] for k in facts["kinds"].values())
    sizes = [result["characters"] for result in facts["largest_results"]]
    assert sizes == sorted(sizes, reverse=True)
    assert facts["problems"] == []


def test_what_is_odd_is_listed(tmp_path: Path, capsys: Captured) -> None:
    """A result without a call is told with its place, in the table and in the JSON."""
    talk = str(write_talk(tmp_path, ODD))
    assert main(["inspect", talk]) == 0
    told = capsys.readouterr().out
    assert "entry 4 [orphan_result]" in told
    assert main(["inspect", talk, "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert [problem["kind"] for problem in facts["problems"]] == ["orphan_result"]


def test_a_format_can_be_named(tmp_path: Path, capsys: Captured) -> None:
    """--format skips the detection, and an unknown name is told with the known ones."""
    talk = str(write_talk(tmp_path))
    assert main(["inspect", talk, "--format", "openai-chat", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["format"] == "openai-chat"
    assert main(["inspect", talk, "--format", "morse"]) == 2
    assert "openai-chat" in capsys.readouterr().err


@needs_transcripts
def test_recorded_oddities_are_found(capsys: Captured) -> None:
    """A real recording that reuses call ids for different calls is read whole and says so."""
    assert main(["inspect", str(TRANSCRIPTS / "raw" / "tau_airline_long.json"), "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    kinds = [problem["kind"] for problem in facts["problems"]]
    assert kinds.count("repeated_call_id") == 5
