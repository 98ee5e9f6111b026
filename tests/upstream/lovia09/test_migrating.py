"""What docs/migrating.md says of the two packages is so.

The blocks for this package run with those of every document. The blocks for the 0.9 line run with
its package, when LOVIA_UPSTREAM=1 is set.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

import lovia
from lovia import CompactingContextPolicy, Compaction, InputEntry, SQLiteSession, events
from tests.meta.documents import snippets
from tests.meta.snippets import compile_snippet, run_code
from tests.notation import A, C, T, U
from tests.paths import REPO
from tests.upstream.environments import SWITCH
from tests.upstream.lovia09.conftest import FORMER

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = REPO / "docs" / "migrating.md"
FORMER_BLOCKS = [s for s in snippets(PAGE) if s.no_run == "for the 0.9 line"]
NAME = re.compile(r"`([A-Za-z_]+)`")

# What the 0.9 line writes of a conversation: entries as `entry_to_dict` of that line makes them.
WRITTEN = """\
{"type": "input", "role": "user", "content": "one"}
{"call_id": "c1", "name": "search", "arguments": "{\\"q\\": 1}", "type": "tool_call"}
{"type": "tool_result", "call_id": "c1", "output": "1", "is_error": false, "raw": 1}
{"content": "ho", "id": null, "type": "assistant_text"}
"""


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading, a list of cells each."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n{heading}\n")[1].split("\n## ")[0]
    table = re.split(r"\n[|-]+\n", section)[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_every_setting_is_translated() -> None:
    """The table has each setting of `Compaction`, with names and defaults as the code has them."""
    here = inspect.signature(CompactingContextPolicy).parameters
    former = list(inspect.signature(Compaction).parameters)
    listed = rows("### Setting by setting")
    assert [NAME.findall(row[0])[0] for row in listed] == former
    for _, _, names, defaults in listed:
        told = dict(zip(NAME.findall(names), defaults.replace("`", "").split(", "), strict=True))
        assert told == {name: str(here[name].default) for name in told}


def test_every_event_is_compared() -> None:
    """The table of events names every event that there is here, and no other."""
    named = {name for row in rows("## Events") for cell in row for name in NAME.findall(cell)}
    kinds = {n for n in named if n[0].isupper()} - {"ToolError", "TimeoutError"}
    families = {c.__name__ for c in vars(events).values() if _is_family(c)}
    assert kinds == set(events.__all__) - families - {"ToolCall", "ArchiveCallback"} - _former()


def _is_family(value: object) -> bool:
    return isinstance(value, type) and value.__module__ == "lovia.events.base"


def _former() -> set[str]:
    """Return names of events that stay for the sake of older programs alone."""
    return {"ArchiveEvent"}


def test_what_is_said_to_be_gone_is_gone() -> None:
    """No name in the table of what is not here is a public name."""
    named = {name for row in rows("## What is not here") for name in NAME.findall(row[0])}
    assert named & set(lovia.__all__) == set()


def test_the_replacing_call_has_the_same_limits() -> None:
    """The call that the page shows for `Compaction(...)` is what that becomes."""
    page = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"context_policy=(CompactingContextPolicy\(.*?\n    \))", page, re.DOTALL)
    assert shown is not None
    policy = eval(shown[1], {"CompactingContextPolicy": CompactingContextPolicy})
    with pytest.warns(DeprecationWarning, match="CompactingContextPolicy"):
        former = Compaction(context_window=200_000, compact_at=0.85, compact_to=0.60)
    assert policy.options == former.options


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder of its own, which is the current one."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def carry_over() -> Any:
    """Run the block that reads a conversation in."""
    (block,) = (s for s in snippets(PAGE) if s.no_run == "reads what the block above wrote")
    run_code(compile_snippet(block), {})


async def _kept() -> Any:
    return await SQLiteSession("chat.db").load("u1")


def test_conversations_are_carried_over(elsewhere: Path) -> None:
    """Entries as the 0.9 line writes them are read, and kept as a conversation."""
    (elsewhere / "u1.jsonl").write_text(WRITTEN, encoding="utf-8")
    carry_over()
    assert anyio.run(_kept) == [U("one"), C("c1"), T("c1", "1"), A("ho")]


def _former_python(program: str, cwd: Path) -> str:
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(FORMER.python), "-c", program],
        cwd=cwd,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CONVERSE = """
import asyncio
from lovia import Agent, Runner, SQLiteSession
from lovia.testing import ScriptedProvider, text
agent = Agent(name="a", model=ScriptedProvider([text("ho")]))
asyncio.run(Runner.run(agent, "one", session=SQLiteSession("chat.db"), session_id="u1"))
"""


@pytest.mark.skipif(os.environ.get(SWITCH) != "1", reason=f"set {SWITCH}=1 to run {FORMER}")
@pytest.mark.usefixtures("former")
def test_the_blocks_for_the_former_line_run_there(elsewhere: Path) -> None:
    """They run as one program, and the conversation that they write out is read in here."""
    _former_python(CONVERSE, elsewhere)
    _former_python("\n".join(block.text for block in FORMER_BLOCKS), elsewhere)
    carry_over()
    assert anyio.run(_kept) == [InputEntry("user", "one"), A("ho")]


@pytest.mark.skipif(os.environ.get(SWITCH) != "1", reason=f"set {SWITCH}=1 to run {FORMER}")
@pytest.mark.usefixtures("former")
def test_every_former_name_is_here_or_on_the_page(tmp_path: Path) -> None:
    """Each public name of the 0.9 line is one here, or the page says what became of it."""
    names = _former_python("import lovia; print(*lovia.__all__)", tmp_path).split()
    page = PAGE.read_text(encoding="utf-8")
    missing = [n for n in names if not hasattr(lovia, n) and n not in page]
    assert missing == []


@pytest.mark.skipif(os.environ.get(SWITCH) != "1", reason=f"set {SWITCH}=1 to run {FORMER}")
@pytest.mark.usefixtures("former")
def test_the_defaults_of_the_former_line_are_stated(tmp_path: Path) -> None:
    """The table states the settings of `Compaction` and their defaults as that package has them."""
    ask = "import inspect, lovia\nfor p in inspect.signature(lovia.Compaction).parameters.values():"
    stated = _former_python(f"{ask} print(p.name, p.default)", tmp_path).splitlines()
    listed = rows("### Setting by setting")
    assert [f"{row[0]} {row[1]}".replace("`", "") for row in listed] == stated
