"""Reads JSON that somebody else made: what is not of the expected kind is not there."""

from __future__ import annotations

from typing import Any

__all__ = ["count_in", "items_in", "object_in", "text_in"]


def object_in(value: Any, name: str) -> dict[str, Any]:
    """Return a member that is an object; an empty one when it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def items_in(value: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects of a member that is a list."""
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def text_in(value: Any, name: str) -> str:
    """Return a member that is text; an empty one when it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def count_in(value: Any, name: str) -> int:
    """Return a member that is a positive number; 0 when it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, int) and found > 0 else 0
