"""A process that is killed at any save point loses nothing and does nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.paths import REPO

needs_fork = pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(signal, "SIGKILL")),
    reason="this system cannot fork and kill",
)


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what became of a run that was killed at each save point, before and after it."""
    folder = tmp_path_factory.mktemp("crashes")
    command = [sys.executable, "-m", "tests.runtime.crash_scene", str(folder)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def at(life: dict[str, Any], *points: tuple[str, str]) -> bool:
    """Tell whether the run was killed at one of these kinds of points."""
    return (life["point"]["operation"], life["point"]["when"]) in points


@needs_fork
def test_every_save_point_was_tried(lives: list[dict[str, Any]]) -> None:
    """Each life really ended by SIGKILL, at saves, at notes of calls and at kept results."""
    assert all(life["killed"] for life in lives)
    operations = [life["point"]["operation"] for life in lives if not life["idempotent"]]
    assert operations.count("append") >= 16
    assert operations.count("begin") == 8
    assert operations.count("finish") == 4


@needs_fork
def test_the_target_of_the_handoff_always_answers(lives: list[dict[str, Any]]) -> None:
    """Wherever the process died, the run ends with agent b, asked for its answer."""
    for life in lives:
        assert (life["output"], life["final_agent"], life["turns"]) == ("done", "b", 3), life
        assert life["effects"]["model b"] >= 2, life
        assert life["results"]["call_1_transfer_to_b"] == "Transferred to b (money)", life


@needs_fork
def test_nothing_is_done_twice(lives: list[dict[str, Any]]) -> None:
    """No tool and no callback ran in both lives, and the conversation has the run once."""
    for life in lives:
        once = ("slow", "quick", "look", *(() if life["idempotent"] else ("handoff",)))
        for name in once:
            assert life["effects"].get(name, 0) <= 1, (name, life)
        assert life["segments"] == 1, life


@needs_fork
def test_at_every_save_the_callback_of_the_handoff_runs_exactly_once(
    lives: list[dict[str, Any]],
) -> None:
    """It is left out only by a death in the moment between its note and its first line.

    Calls that run side by side are noted side by side, so that moment may be another call's note.
    """
    plain = [life for life in lives if not life["idempotent"]]
    missed = [life["point"] for life in plain if not life["effects"].get("handoff")]
    assert {point["operation"] for point in missed} <= {"begin"}
    assert len(missed) < 4


@needs_fork
def test_an_idempotent_callback_is_never_left_out(lives: list[dict[str, Any]]) -> None:
    """It is called again where nobody knows whether it has run, with the key that it had then."""
    again = [life for life in lives if life["idempotent"]]
    assert {life["effects"]["handoff"] for life in again} == {1, 2}
    for life in again:
        keys = {name: times for name, times in life["effects"].items() if name.startswith("key ")}
        assert list(keys.values()) == [life["effects"]["handoff"]], life


@needs_fork
def test_what_was_not_done_is_said(lives: list[dict[str, Any]]) -> None:
    """A call without its effect, or with an unknown one, has a result that says so."""
    for life in lives:
        for call_id, name in {
            "call_0_slow": "slow",
            "call_2_quick": "quick",
            "call_look": "look",
        }.items():
            told = life["results"][call_id]
            if not life["effects"].get(name):
                assert "interrupted" in told, (name, life)
            assert "thread" not in told


@needs_fork
def test_a_completed_run_costs_nothing_again(lives: list[dict[str, Any]]) -> None:
    """Asked for once more, the run gives its answer and asks no model and runs no tool."""
    for life in lives:
        assert (life["replayed"], life["effects_of_replay"]) == ("done", 0), life


@needs_fork
def test_a_model_is_asked_again_only_for_an_answer_that_was_not_saved(
    lives: list[dict[str, Any]],
) -> None:
    """Three answers take three calls, and one more where an answer was lost with its process."""
    for life in lives:
        asked = life["effects"]["model a"] + life["effects"]["model b"]
        assert asked == 3 or (asked == 4 and at(life, ("append", "before"))), life
