"""`lovia view`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia.cli import main
from lovia_otel import (
    ChatSizes,
    chat_scope,
    configure,
    fold_scope,
    pass_scope,
    run_scope,
    stage_scope,
    tool_scope,
    turn_scope,
)

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]
SIZES = ChatSizes(history=9_000, request=5_000, window=8_000, saved=3_000, source="bytes")


def _call(purpose: str = "turn") -> None:
    with chat_scope(
        provider="scripted", model="m1", purpose=purpose, agent="a", sizes=SIZES, view="compacted"
    ) as scope:
        scope.settle(input_tokens=5_100, output_tokens=70)


def _pass() -> None:
    with pass_scope(
        policy="compacting", trigger="threshold", pass_id="p1", tokens_before=7_000
    ) as scope:
        with stage_scope(stage="middle_snip", index=1, tokens_before=7_000) as stage:
            stage.settle(outcome="noop", tokens_after=7_000)
        with stage_scope(stage="auto_summary", index=3, tokens_before=7_000) as stage:
            with fold_scope(index=0, tokens=3_000, entries=9) as fold:
                _call("summarize")
                fold.settle(summary_tokens=200, attempts=1)
            stage.settle(outcome="applied", tokens_after=5_000, note="1 chunk folded")
        scope.settle(
            outcome="compacted", reason="auto_summary", tokens_after=5_000, tokens_freed=2_000
        )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace of a run of five turns: three quiet ones, a pass, a failing tool."""
    path = tmp_path / "trace.jsonl"
    with (
        configure(file=path, service_name="test", set_global=False),
        run_scope(agent="reader", run_id="r1", session_id=None) as run,
    ):
        for index in range(1, 6):
            with turn_scope(index=index) as turn:
                if index == 4:
                    _pass()
                _call()
                if index == 5:
                    with (
                        pytest.raises(ValueError, match="no"),
                        tool_scope(tool="look", call_id="c1", agent="a"),
                    ):
                        raise ValueError("no")
                turn.settle(tool_calls=1)
        run.settle(outcome="completed", turns=5, compactions=1)
    return path


def test_the_story_of_a_run_is_a_tree(trace: Path, capsys: Captured) -> None:
    """Run, pass, stage, fold and calls are shown below each other; quiet turns share a line."""
    assert main(["view", str(trace)]) == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.strip()]
    order = [
        "invoke_agent reader completed, 5 turns, 1 pass",
        "turns 1-3, no pass: request 5,000 to 5,000 tokens",
        "agent_turn 4",
        "compact_context threshold: 7,000 -> 5,000 tokens freed 2,000 compacted by auto_summary",
        "compact_context.stage auto_summary applied 7,000 -> 5,000 tokens 1 chunk folded",
        "fold_chunk 1: 3,000 tokens into a summary of 200",
        "chat m1 (summarize)",
        "chat m1 (turn) history 9,000 request 5,000 saved 3,000 compacted counted 5,100 in, 70 out",
        "agent_turn 5",
        "execute_tool look",
    ]
    positions = [next((k for k, line in enumerate(lines) if text in line), -1) for text in order]
    assert -1 not in positions
    assert positions == sorted(positions)
    assert "middle_snip" not in out
    assert "ValueError" in out
    assert out.count("agent_turn") == 2


def test_every_span_is_shown_on_request(trace: Path, capsys: Captured) -> None:
    """--every folds nothing."""
    assert main(["view", str(trace), "--every"]) == 0
    out = capsys.readouterr().out
    assert out.count("agent_turn") == 5
    assert "middle_snip noop" in out


def test_damaged_lines_are_reported_and_the_rest_is_shown(trace: Path, capsys: Captured) -> None:
    """A line that was cut off is named on standard error."""
    with trace.open("ab") as file:
        file.write(b'{"resourceSpans": [\n' * 7)
    assert main(["view", str(trace)]) == 0
    captured = capsys.readouterr()
    assert "invoke_agent reader" in captured.out
    assert captured.err.count("skipped a damaged line") == 5
    assert "and 2 more damaged lines" in captured.err


@pytest.mark.parametrize("content", [None, b"", b"\x00\xff", b"{}\n", b"not json\n"])
def test_what_is_no_trace_ends_with_2(
    content: bytes | None, tmp_path: Path, capsys: Captured
) -> None:
    """A missing file, or one without a single span, is told on standard error."""
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert main(["view", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "trace.jsonl" in captured.err
    assert "Traceback" not in captured.err


def test_hostile_names_do_not_steer_the_terminal(tmp_path: Path, capsys: Captured) -> None:
    """Names in a trace are text: no markup, no escape sequences."""
    path = tmp_path / "trace.jsonl"
    with (
        configure(file=path, service_name="test", set_global=False),
        run_scope(agent="[bold]x[/bold]\x1b[31m\nnew line", run_id=None, session_id=None),
    ):
        pass
    assert main(["view", str(path)]) == 0
    out = capsys.readouterr().out
    assert "[bold]x[/bold]" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 1
