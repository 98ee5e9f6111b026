"""The text form of an extract: written within a bound of characters, and read again without loss.

A line of an item never begins where a heading or an item does, so what was said cannot be mistaken
for the form around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.extract import Extract
from lovia.context.summarizer.splitting import clip_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["parse", "render"]

#: Field of an extract, its heading, and its share of the text. What one does not need, those after
#: it may use; the order of the text is the order here.
_SECTIONS: Final = (
    ("goal", "Goal", 0.25),
    ("requests", "Later requests", 0.18),
    ("state", "Last state", 0.18),
    ("decisions", "Decisions", 0.13),
    ("errors", "Errors", 0.09),
    ("files", "Files", 0.09),
    ("tools", "Tools used", 0.04),
    ("earlier", "Earlier summary", 0.04),
)
_FIELDS: Final = {f"## {heading}": name for name, heading, _ in _SECTIONS}
_SINGLE: Final = frozenset({"goal", "earlier"})
#: An item that does not fit is clipped to what is left when that is at least this many characters.
_MIN_ITEM: Final = 24
_TIMES: Final = " x"


def render(extract: Extract, limit: int) -> str:
    """Write an extract in at most ``limit`` characters; of each kind the newest items that fit."""
    parts: list[str] = []
    carried = 0.0
    for name, heading, share in _SECTIONS:
        available = limit * share + carried
        lines = _fitting(_items(extract, name), int(available) - len(heading) - 5)
        section = "\n".join([f"## {heading}", *lines]) if lines else ""
        carried = available - (len(section) + 2 if section else 0)
        if section:
            parts.append(section)
    return "\n\n".join(parts) or "Nothing was said."


def parse(text: str) -> Extract | None:
    """Read what :func:`render` wrote; ``None`` for a text in any other form."""
    found: dict[str, list[str]] = {}
    items: list[str] | None = None
    for line in text.split("\n"):
        if line in _FIELDS:
            items = found.setdefault(_FIELDS[line], [])
        elif line.startswith("- ") and items is not None:
            items.append(line[2:])
        elif line.startswith("  ") and items:
            items[-1] += "\n" + line[2:]
        elif line:
            return None
    if not found:
        return None
    single = {name: found.pop(name, [""])[0] for name in _SINGLE}
    tools = dict(_tool(item) for item in found.pop("tools", []))
    return Extract(**single, tools=tools, **found)  # type: ignore[arg-type] # fields by their names


def _items(extract: Extract, name: str) -> Sequence[str]:
    """Return the items of one kind, the least important first."""
    if name == "tools":
        ranked = sorted(extract.tools.items(), key=lambda item: item[1])
        return [tool + (f"{_TIMES}{uses}" if uses > 1 else "") for tool, uses in ranked]
    value = getattr(extract, name)
    if name in _SINGLE:
        return [value] if value else []
    return list(value)


def _fitting(items: Sequence[str], available: int) -> list[str]:
    """Return the last items that fit, each as lines of the text, in order."""
    lines: list[str] = []
    for item in reversed(items):
        line = _line(item)
        if len(line) > available:
            if not lines and available >= _MIN_ITEM:
                lines.append(_line(clip_middle(item, available - item.count("\n") * 2 - 2)))
            break
        lines.append(line)
        available -= len(line) + 1
    return lines[::-1]  # in the order in which they were said


def _line(item: str) -> str:
    return "- " + item.replace("\n", "\n  ")


def _tool(item: str) -> tuple[str, int]:
    name, separator, uses = item.rpartition(_TIMES)
    return (name, int(uses)) if separator and uses.isdecimal() else (item, 1)
