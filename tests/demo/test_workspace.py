"""The demo's tools do the real thing, inside their folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import Agent, RunContext, ToolError
from lovia.demo import Workspace, find_workspace
from lovia.demo import workspace as workspace_module
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two modules, a hidden one, a cache, and a link that leads out of it."""
    root = tmp_path / "project"
    (root / "pkg" / "__pycache__").mkdir(parents=True)
    (root / "pkg" / "one.py").write_text("alpha = 1\nbeta = 2\n\ngamma = 'Alpha'\n")
    (root / "pkg" / "two.py").write_text("alpha = 3\n")
    (root / "pkg" / ".hidden.py").write_text("alpha = 4\n")
    (root / "pkg" / "__pycache__" / "one.py").write_text("alpha = 5\n")
    (tmp_path / "secret.txt").write_text("alpha")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    return root


async def use(folder: Path, name: str, **arguments: Any) -> str:
    """Call a tool by its name, as a run does."""
    tools = {tool.name: tool for tool in Workspace(folder, "pkg").tools()}
    ctx = RunContext(deps=None, entries=[], agent=Agent("explorer"))
    return str(await tools[name].invoke(arguments, ctx))


async def test_files_are_listed_with_their_sizes(folder: Path) -> None:
    """Visible files are named in order, caches and hidden ones are not."""
    listed = await use(folder, "list_files", path=".", suffix=".py")
    assert [line.split() for line in listed.splitlines()] == [
        ["36", "pkg/one.py"],
        ["10", "pkg/two.py"],
    ]
    assert await use(folder, "list_files", suffix=".rs") == "no such files"


async def test_a_file_is_read_by_lines(folder: Path) -> None:
    """Lines come with their numbers, from where and as many as asked for."""
    assert await use(folder, "read_file", path="pkg/one.py", start=2, lines=2) == (
        "    2 beta = 2\n    3 "
    )
    assert await use(folder, "read_file", path="pkg/one.py", start=90) == ""


async def test_a_search_finds_lines_whatever_their_case(folder: Path) -> None:
    """Each line that holds the text is returned with file and number."""
    found = await use(folder, "search_files", text="ALPHA", path="pkg")
    assert found.splitlines() == [
        "pkg/one.py:1: alpha = 1",
        "pkg/one.py:4: gamma = 'Alpha'",
        "pkg/two.py:1: alpha = 3",
    ]
    assert await use(folder, "search_files", text="delta") == "nothing found"


async def test_a_program_is_run(folder: Path) -> None:
    """What a Python program prints is returned, and how it ends when that is not well."""
    printed = await use(folder, "run_python", code="print(len(open('pkg/one.py').read()))")
    assert printed == "36\n"
    failed = await use(folder, "run_python", code="raise SystemExit(3)")
    assert failed.startswith("exit code 3")


async def test_a_program_that_does_not_end_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program has a few seconds, then the model is told that it was too slow."""
    monkeypatch.setattr(workspace_module, "PYTHON_SECONDS", 0.3)
    with pytest.raises(ToolError, match=r"more than 0\.3 seconds"):
        await use(folder, "run_python", code="import time; time.sleep(60)")


@pytest.mark.parametrize("tool", ["read_file", "list_files"])
@pytest.mark.parametrize("path", ["../secret.txt", "out", "/etc/passwd", "nothing", "a\0b", ""])
async def test_no_path_leads_out_of_the_folder(folder: Path, tool: str, path: str) -> None:
    """Dots, links, absolute and impossible paths are refused with an error the model can read."""
    if tool == "list_files" and not path:
        assert "pkg/one.py" in await use(folder, tool, path=path)
        return
    with pytest.raises(ToolError) as caught:
        await use(folder, tool, path=path)
    assert caught.value.hint


def test_the_workspace_is_the_checkout_or_the_package(tmp_path: Path) -> None:
    """Inside a checkout the agent works on it, elsewhere on the installed package's source."""
    assert find_workspace(REPO / "lovia" / "demo") == Workspace(REPO, "lovia")
    elsewhere = find_workspace(tmp_path)
    assert (elsewhere.root / elsewhere.package / "demo" / "workspace.py").is_file()
