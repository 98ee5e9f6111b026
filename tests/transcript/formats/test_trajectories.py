"""Trajectories of benchmark agents: the messages inside the record of a run."""

from __future__ import annotations

from typing import Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import InputEntry, ToolCallEntry, ToolResultEntry
from tests.transcript.formats.loaded import loaded, recorded

USER = {"role": "user", "content": "hello", "agent": "main"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
}
ENTRIES = [InputEntry("user", "hello"), ToolCallEntry("a", "f", "{}"), ToolResultEntry("a", "one")]


def test_a_swe_agent_run() -> None:
    """The history is read, with results that name their calls in a list."""
    result = {"role": "tool", "content": "one", "tool_call_ids": ["a"]}
    run = {"trajectory": [{"action": "ls"}], "history": [USER, CALL, result], "info": {}}

    recording = recorded(run)

    assert recording.format == "swe-agent"
    assert recording.entries == ENTRIES


def test_a_tau_bench_run() -> None:
    """The one run of a file is read, also out of a list of one."""
    result = {"role": "tool", "tool_call_id": "a", "name": "f", "content": "one"}
    run = {"task_id": 1, "reward": 0.0, "traj": [USER, CALL, result]}

    assert recorded(run).format == recorded([run]).format == "tau-bench"
    assert loaded(run) == loaded([run]) == ENTRIES


def test_several_runs_are_not_one_conversation() -> None:
    """A file of several runs is refused with advice, and never mixed into one."""
    with pytest.raises(TranscriptFormatError, match="2 runs") as caught:
        loaded([{"traj": [USER]}, {"traj": [USER]}])

    assert "one element of the list" in str(caught.value)


@pytest.mark.parametrize(
    ("document", "format", "position"),
    [
        ({"trajectory": [], "history": [USER, 7]}, None, "history[1]"),
        ({"traj": [USER, {"role": "boss"}]}, None, "traj[1].role"),
        ({"history": 7}, "swe-agent", "history"),
        ({"traj": 7}, "tau-bench", "traj"),
        ([7], "tau-bench", "[0]"),
        ({"messages": []}, "swe-agent", None),
    ],
)
def test_a_wrong_type_is_named(document: Any, format: str | None, position: str | None) -> None:
    """The error leads to the value that is wrong."""
    with pytest.raises(TranscriptFormatError) as caught:
        loaded(document, format)

    assert caught.value.position == position
