"""The demo's session, on both event loops and from both places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest

from lovia.demo import DemoSession, DemoTurn, Workspace, find_workspace, script
from lovia.demo.session import WINDOW_SERVED
from lovia.transcript.entries import ToolCallEntry
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

PLACES = [
    pytest.param(Workspace(REPO, "lovia"), id="checkout"),
    pytest.param(Workspace(REPO / "lovia", "."), id="package"),
]


@pytest.fixture(params=PLACES)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> DemoSession:
    """A session in the checkout, and one in the package alone."""
    return DemoSession(request.param, tmp_path)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_session_shows_everything_from_either_place(session: DemoSession, backend: str) -> None:
    """All five sights happen, every request that was answered fits, and the numbers add up."""
    told: list[DemoTurn] = []
    anyio.run(session.run, told.append, backend=backend)
    assert session.sights() == dict.fromkeys(session.sights(), True)
    assert told == session.turns
    assert [turn.record.index for turn in told] == list(range(1, len(told) + 1))
    assert all(turn.record.request <= WINDOW_SERVED for turn in told)
    assert session.answer is not None
    assert "context/compacting.py" in session.answer
    spent = session.usage.summary
    assert session.result.totals.summary_cost == spent.input_tokens + spent.output_tokens > 0


@pytest.mark.parametrize("file", script.READINGS)
def test_every_file_that_the_script_reads_is_there(file: str) -> None:
    """A renamed module would otherwise quietly shorten the session."""
    assert (REPO / "lovia" / file).is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"path": "a.py", "start": 1}, "look a.py"),
        ({"code": "import sys\nprint(1)"}, "look print(1)"),
        ({"text": "x" * 90}, "look " + "x" * 39 + "…"),
        ({}, "look"),
        ([1], "look"),
    ],
)
def test_a_call_is_told_by_its_main_argument(arguments: object, told: str) -> None:
    """A call is described by the tool and the last line of its first argument."""
    entry = ToolCallEntry("c1", "look", json.dumps(arguments))
    assert script.describe_call(entry) == told
    assert script.describe_call(ToolCallEntry("c1", "look", "{")) == "look"


def test_nothing_is_shown_before_the_session_ran(tmp_path: Path) -> None:
    """A session that did not run claims nothing."""
    session = DemoSession(find_workspace(REPO), tmp_path)
    assert not any(session.sights().values())
