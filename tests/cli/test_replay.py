"""`lovia replay` and `lovia compare`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lovia.cli import main
from tests.cli.support import ANSWERS, TALK, write_talk

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


def run_json(capsys: Captured, *arguments: str | Path) -> Any:
    """Run a command with --json and return the document; nothing else may be on standard output."""
    command, *rest = map(str, arguments)
    assert main([command, "--json", *rest]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_replay_prints_a_row_a_call_and_the_totals(tmp_path: Path, capsys: Captured) -> None:
    """Turn, history, request, saved and what happened are shown, and the sums with net."""
    assert main(["replay", str(write_talk(tmp_path)), "--window", "2k"]) == 0
    out = capsys.readouterr().out
    for word in ("turn", "history", "request", "saved", "cost", "what happened", "net", "talk"):
        assert word in out
    rows = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert [row for row in rows if row.isdigit()] == [str(k) for k in range(1, 2 * ANSWERS + 1)]
    assert "window 2,000 tokens" in out


def test_json_is_all_there_is_on_standard_output(tmp_path: Path, capsys: Captured) -> None:
    """The document holds every call and the totals, and equal input gives equal output."""
    talk = write_talk(tmp_path)
    first = run_json(capsys, "replay", talk, "--window", "2000")
    again = run_json(capsys, "replay", talk, "--window", "2000")
    assert first == again
    (recording,) = first["recordings"]
    assert [turn["turn"] for turn in recording["turns"]] == list(range(1, 2 * ANSWERS + 1))
    assert recording["totals"]["passes"] > 0
    assert all(turn["request"] <= 2000 for turn in recording["turns"])
    totals = first["totals"]
    assert totals["net"] == totals["saved"] - totals["summary_cost"] > 0
    timed = run_json(capsys, "replay", talk, "--window", "2000", "--timing")
    assert timed["totals"]["seconds"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["FILE", "--policy", "trigger_ratio=0.5", "target_ratio=0.3"],
        ["--policy", "trigger_ratio=0.5", "target_ratio=0.3", "FILE"],
        ["FILE", "--policy", "trigger_ratio=0.5,target_ratio=0.3"],
        ["--policy", "trigger_ratio=0.5", "--policy", "target_ratio=0.3", "--", "FILE"],
    ],
)
def test_settings_may_stand_before_and_after_the_files(
    arguments: list[str], tmp_path: Path, capsys: Captured
) -> None:
    """However it is written, the policy gets its settings and the file stays a file."""
    talk = str(write_talk(tmp_path))
    words = [talk if word == "FILE" else word for word in arguments]
    result = run_json(capsys, "replay", "--window", "2000", *words)
    default = run_json(capsys, "replay", "--window", "2000", talk)
    (recording,) = result["recordings"]
    assert recording["policy"].replace(",", " ") == "trigger_ratio=0.5 target_ratio=0.3"
    assert recording["totals"]["sent"] < default["totals"]["sent"]


def test_long_recordings_fold_their_quiet_calls(tmp_path: Path, capsys: Captured) -> None:
    """Runs of calls before which nothing happened share a row, unless every call is asked for."""
    talk = str(write_talk(tmp_path, TALK + TALK[1:] * 3))
    assert main(["replay", talk, "--window", "4000"]) == 0
    folded = capsys.readouterr().out
    assert main(["replay", talk, "--window", "4000", "--every"]) == 0
    every = capsys.readouterr().out
    assert "quiet calls" in folded
    assert len(every.splitlines()) >= 8 * ANSWERS > len(folded.splitlines())


def test_a_report_is_written_and_named(tmp_path: Path, capsys: Captured) -> None:
    """--report writes the page and says where."""
    out = tmp_path / "out.html"
    talk = write_talk(tmp_path)
    assert main(["replay", str(talk), "--window", "2k", "--report", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert "<h2>talk</h2>" in out.read_text()


def test_recorded_counts_are_compared(tmp_path: Path, capsys: Captured) -> None:
    """With counts beside the transcript the fitted offset and the error left are shown."""
    talk = write_talk(tmp_path)
    counted = [
        {"message": k, "prompt_tokens": 500 + 40 * k}
        for k, message in enumerate(TALK)
        if message["role"] == "assistant"
    ]
    talk.with_suffix(".usage.json").write_text(json.dumps(counted))
    data = run_json(capsys, "replay", talk, "--feed-usage")
    (segment,) = data["recordings"][0]["estimate"]["segments"]
    assert segment["calls"] == 2 * ANSWERS
    assert data["recordings"][0]["turns"][3]["recorded"] == 500 + 40 * 8
    assert main(["replay", str(talk)]) == 0
    assert "fitted offset" in capsys.readouterr().out


def test_other_files_go_on_when_one_is_bad(tmp_path: Path, capsys: Captured) -> None:
    """A file that cannot be read is told, the others are replayed, and the exit code is 2."""
    assert main(["replay", str(tmp_path / "gone.json"), str(write_talk(tmp_path)), "--json"]) == 2
    captured = capsys.readouterr()
    assert [r["name"] for r in json.loads(captured.out)["recordings"]] == ["talk"]
    assert "gone.json" in captured.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(None, "no such file", id="missing"),
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"\x7fELF\x00\xff\xfe", "no text", id="binary"),
        pytest.param(json.dumps(TALK).encode()[:-40], "talk.json", id="truncated"),
        pytest.param(b'{"weather": "fine"}', "no transcript in a format", id="unknown format"),
        pytest.param(b"[1, 2, 3]", "talk.json", id="no messages"),
    ],
)
@pytest.mark.parametrize("command", ["replay", "inspect", "compare"])
def test_bad_files_end_with_2_and_a_hint(
    command: str, content: bytes | None, told: str, tmp_path: Path, capsys: Captured
) -> None:
    """Missing, binary, truncated and unknown files are named, without a traceback."""
    path = tmp_path / "talk.json"
    if content is not None:
        path.write_bytes(content)
    extra = ["--policy", "default"] if command == "compare" else []
    assert main([command, str(path), *extra]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert "hint: " in captured.err
    assert "Traceback" not in captured.err


def test_a_window_smaller_than_the_newest_message_ends_with_2(
    tmp_path: Path, capsys: Captured
) -> None:
    """What no policy may leave out does not fit: the sizes are told, and the exit code is 2."""
    large = {"role": "user", "content": "a question " * 2_000}
    talk = write_talk(tmp_path, [*TALK, large, {"role": "assistant", "content": "an answer"}])
    assert main(["replay", str(talk), "--window", "1500"]) == 2
    captured = capsys.readouterr()
    assert "overflow" in captured.out
    assert "1 of 25 calls do not fit the window of 1,500 tokens" in captured.err
    assert "hint: A window of" in captured.err


def test_a_message_larger_than_the_window_ends_with_2(tmp_path: Path, capsys: Captured) -> None:
    """A call whose newest message did not fit is told; the rest is replayed all the same."""
    large = [
        {"role": "user", "content": "a question " * 2_000},
        {"role": "assistant", "content": "x"},
    ]
    talk = write_talk(tmp_path, [*TALK[:9], *large, *TALK[9:]])
    assert main(["replay", str(talk), "--window", "1500", "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["totals"]["overflows"] == 1
    assert "1 of 25 calls do not fit" in captured.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "triger_ratio=0.5"], "trigger_ratio"),
        (["--policy", "trigger_ratio=much"], "a number"),
        (["--policy", "trigger_ratio=0.5", "target_ratio=0.6"], "target_ratio=0.6 is not below"),
        (["--policy", "nowhere:policy"], "nowhere:policy"),
        (["--summarizer", "poetic"], "extractive"),
        (["--summarizer", "unknown:model"], "unknown:model"),
        (["--report", "no/such/folder/out.html"], "out.html"),
        (["--otlp", "not-an-address"], "http"),
    ],
)
def test_settings_that_cannot_be_meant_end_with_2(
    arguments: list[str], told: str, tmp_path: Path, capsys: Captured
) -> None:
    """A setting that is unknown, malformed or contradictory is told with what would be right."""
    assert main(["replay", str(write_talk(tmp_path)), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert "Traceback" not in captured.err


def test_hostile_names_do_not_steer_the_terminal(tmp_path: Path, capsys: Captured) -> None:
    """Escape sequences and line breaks in a file's name or a tool's name are not printed."""
    messages = json.loads(json.dumps(TALK).replace("read_file", r"\u001b[2Jread\ud800"))
    talk = write_talk(tmp_path, messages, name="a\x1b[31m b.json")
    for command in ("replay", "inspect"):
        assert main([command, str(talk)]) == 0
        captured = capsys.readouterr()
        assert "\x1b" not in captured.out + captured.err


def test_policies_are_compared_side_by_side(tmp_path: Path, capsys: Captured) -> None:
    """Each policy has its row for each recording, and the sums over all."""
    talk, other = write_talk(tmp_path), write_talk(tmp_path, TALK[:20], name="other.json")
    words = ["compare", "--policy", "default", "--policy", "noop", str(talk), str(other)]
    data = run_json(capsys, *words, "--window", "2000")
    default, noop = data["policies"]
    assert (default["policy"], noop["policy"]) == ("default", "noop")
    assert noop["totals"]["overflows"] > 0 == default["totals"]["overflows"]
    assert [r["name"] for r in data["recordings"]] == ["talk", "other"]
    assert main([*words, "--window", "2000"]) == 0
    table = capsys.readouterr().out
    assert table.count("noop") == 3
    assert "overflow" in table
