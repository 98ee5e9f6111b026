"""The folder that the demo's agent works in, and its tools: list, read, search, run Python.

All four do the real thing. They stay inside the folder: a path that leads out of it, by dots or by
a link, is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio

from lovia.errors import ToolError
from lovia.tools import tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.tools import Tool

__all__ = ["PYTHON_SECONDS", "Workspace", "find_workspace"]

#: Seconds that a Python snippet may take.
PYTHON_SECONDS: Final = 10.0
_LISTED: Final = 200  # files that one listing names
_MATCHES: Final = 600  # lines that one search returns
_LINE: Final = 200  # characters of a found line
_SKIPPED: Final = frozenset({"__pycache__", "node_modules"})
_LARGEST: Final = 1_000_000  # bytes of a file that is searched or read


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of source code.

    Attributes:
        root: The folder.
        package: The package ``lovia`` in it, relative to ``root``.
    """

    root: Path
    package: str

    def files(self, folder: Path, suffix: str = "") -> Iterator[Path]:
        """Yield the visible files below a folder, in a fixed order; links are not followed."""
        for directory, folders, names in os.walk(folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            yield from (
                Path(directory, name)
                for name in sorted(names)
                if not name.startswith(".")
                and name.endswith(suffix)
                and not Path(directory, name).is_symlink()
            )

    def resolve(self, path: str) -> Path:
        """Return the place that a tool's path means.

        Raises:
            ToolError: It does not exist, or lies outside the folder.
        """
        try:
            place = (self.root / path).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise ToolError(f"There is no {path!r} here.", hint="List the files first.") from None
        if not place.is_relative_to(self.root.resolve()):
            hint = "Use a path inside the folder."
            raise ToolError(f"{path!r} lies outside the folder.", hint=hint)
        return place

    def name(self, place: Path) -> str:
        """Return a place as the tools write it: relative, with forward slashes."""
        return place.resolve().relative_to(self.root.resolve()).as_posix()

    def tools(self) -> list[Tool]:
        """Return the agent's tools."""
        return [_list_files(self), _read_file(self), _search_files(self), _run_python(self)]


def find_workspace(start: Path) -> Workspace:
    """Return the checkout that ``start`` lies in, else the installed package's own source."""
    package = Path(__file__).resolve().parent.parent
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "pyproject.toml").is_file() and (folder / "lovia" / "__init__.py").is_file():
            return Workspace(folder, "lovia")
    return Workspace(package, ".")


def _list_files(workspace: Workspace) -> Tool:
    @tool
    def list_files(
        path: Annotated[str, "Folder to list."] = ".",
        suffix: Annotated[str, "Only files whose names end like this."] = "",
    ) -> str:
        """List the files below a folder with their sizes in bytes."""
        folder = workspace.resolve(path)
        if not folder.is_dir():
            raise ToolError(f"{path!r} is no folder.", hint="Use read_file for a file.")
        found = list(workspace.files(folder, suffix))
        lines = [f"{file.stat().st_size:>8} {workspace.name(file)}" for file in found[:_LISTED]]
        if len(found) > _LISTED:
            lines.append(f"... and {len(found) - _LISTED} more")
        return "\n".join(lines) or "no such files"

    return list_files


def _read_file(workspace: Workspace) -> Tool:
    @tool
    def read_file(
        path: Annotated[str, "File to read."],
        start: Annotated[int, "First line, from 1."] = 1,
        lines: Annotated[int, "How many lines."] = 400,
    ) -> str:
        """Read lines of a text file, each with its number."""
        text = _text_of(workspace.resolve(path))
        chosen = text.splitlines()[max(0, start - 1) : max(0, start - 1) + max(0, lines)]
        return "\n".join(f"{number:>5} {line}" for number, line in enumerate(chosen, max(1, start)))

    return read_file


def _search_files(workspace: Workspace) -> Tool:
    @tool
    def search_files(
        text: Annotated[str, "Text to look for; case does not matter."],
        path: Annotated[str, "Folder to search."] = ".",
        suffix: Annotated[str, "Only files whose names end like this."] = ".py",
    ) -> str:
        """Search files for a text and return the lines that hold it."""
        wanted, found = text.lower(), list[str]()
        for file in workspace.files(workspace.resolve(path), suffix):
            if file.stat().st_size > _LARGEST:
                continue
            content = file.read_text(encoding="utf-8", errors="replace")
            if wanted in content.lower():
                found.extend(_matches(content, wanted, workspace.name(file)))
            if len(found) >= _MATCHES:
                found[_MATCHES:] = [f"... cut off after {_MATCHES} lines"]
                break
        return "\n".join(found) or "nothing found"

    return search_files


def _run_python(workspace: Workspace) -> Tool:
    @tool(parallel=False)
    async def run_python(code: Annotated[str, "A complete Python program."]) -> str:
        """Run a Python program in the folder and return what it prints."""
        command = [sys.executable, "-I", "-c", code]
        with anyio.move_on_after(PYTHON_SECONDS):
            done = await anyio.run_process(
                command,
                cwd=workspace.root,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output = done.stdout.decode("utf-8", "replace")
            return output if done.returncode == 0 else f"exit code {done.returncode}\n{output}"
        message = f"The program took more than {PYTHON_SECONDS:g} seconds and was ended."
        raise ToolError(message, hint="Do less in one program.")

    return run_python


def _text_of(file: Path) -> str:
    if not file.is_file():
        raise ToolError(f"{file.name!r} is no file.", hint="Use list_files for a folder.")
    if file.stat().st_size > _LARGEST:
        raise ToolError(f"{file.name!r} is too large to be read.", hint="Search it instead.")
    return file.read_text(encoding="utf-8", errors="replace")


def _matches(content: str, wanted: str, name: str) -> Iterator[str]:
    for number, line in enumerate(content.splitlines(), 1):
        if wanted in line.lower():
            yield f"{name}:{number}: {line.strip()[:_LINE]}"
