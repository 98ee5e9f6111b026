"""What a docstring says: the description of a function, and of each of its parameters.

Google, NumPy and Sphinx styles are understood; anything else is description.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Docstring", "read_docstring"]

# Headings that open a section of a docstring; what follows is for people who read code.
_SECTIONS: Final = frozenset(
    {
        "args",
        "arguments",
        "parameters",
        "params",
        "returns",
        "return",
        "yields",
        "raises",
        "examples",
    }
    | {"example", "notes", "note", "attributes", "keyword args", "other parameters", "see also"}
)
_PARAMETERS: Final = frozenset({"args", "arguments", "parameters", "params", "keyword args"})
_SPHINX: Final = re.compile(r":(?P<field>\w+)(?:\s+(?P<rest>[^:]+))?:\s*(?P<text>.*)")
_GOOGLE_ITEM: Final = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")
_NUMPY_ITEM: Final = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?::.*)?$")


@dataclass
class Docstring:
    """A docstring taken apart.

    Attributes:
        description: Everything before the first section.
        parameters: Description by parameter name.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; ``None`` and blank text give an empty one."""
    lines = inspect.cleandoc(text or "").splitlines()
    start = next((i for i in range(len(lines)) if _opens_section(lines, i)), len(lines))
    parsed = Docstring(description="\n".join(lines[:start]).strip())
    index = start
    while index < len(lines):
        stop = next(
            (i for i in range(index + 1, len(lines)) if _opens_section(lines, i)), len(lines)
        )
        parsed.parameters.update(_read_section(lines[index:stop]))
        index = stop
    return parsed


def _heading(line: str) -> str:
    return line.strip().removesuffix(":").lower()


def _underlined(lines: list[str], index: int) -> bool:
    below = lines[index + 1].strip() if index + 1 < len(lines) else ""
    return bool(below) and set(below) == {"-"}


def _opens_section(lines: list[str], index: int) -> bool:
    line = lines[index]
    if _SPHINX.fullmatch(line.strip()):
        return True
    if line[:1].isspace() or _heading(line) not in _SECTIONS:
        return False
    return line.rstrip().endswith(":") or _underlined(lines, index)


def _read_section(lines: list[str]) -> dict[str, str]:
    sphinx = _SPHINX.fullmatch(lines[0].strip())
    if sphinx:
        words = (sphinx["rest"] or "").split()
        if sphinx["field"] not in {"param", "parameter", "arg"} or not words:
            return {}
        return {words[-1].lstrip("*"): _joined([sphinx["text"], *lines[1:]])}
    if _heading(lines[0]) not in _PARAMETERS:
        return {}
    if _underlined(lines, 0):
        return _read_items(lines[2:], _NUMPY_ITEM)
    return _read_items(lines[1:], _GOOGLE_ITEM)


def _read_items(lines: list[str], item: re.Pattern[str]) -> dict[str, str]:
    """Read ``name: text`` items; deeper indented lines continue the item above them."""
    depth = min((_indent(line) for line in lines if line.strip()), default=0)
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        match = item.match(line.strip()) if line.strip() and _indent(line) == depth else None
        if match:
            current = texts.setdefault(match["name"], [])
            current.append(match.groupdict().get("text") or "")
        else:
            current.append(line)
    return {name: _joined(parts) for name, parts in texts.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(parts: list[str]) -> str:
    return " ".join(part.strip() for part in parts if part.strip())
