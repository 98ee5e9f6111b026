"""The arguments of a call, for wire formats that want a JSON object.

A model may write anything. What is no object is wrapped into one, so that no request is refused for
what a model said once.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from lovia.transcript.text import clean_text

__all__ = ["arguments_object", "arguments_text"]

#: The key under which arguments stand that are no JSON object.
RAW_ARGUMENTS: Final = "arguments"
# Deeper values come from no sensible tool, and encoding them could exhaust the stack.
_DEPTH: Final = 100


def arguments_object(text: str) -> dict[str, Any]:
    """Return the object that a call's arguments are; blank text is an empty one."""
    if not text.strip():
        return {}
    value = _parsed(text)
    return {RAW_ARGUMENTS: text} if value is None else value


def arguments_text(text: str) -> str:
    """Return arguments as the text of a JSON object; one that is an object stays as written."""
    if not text.strip():
        return "{}"
    if _parsed(text) is not None:
        return text
    return json.dumps({RAW_ARGUMENTS: text}, ensure_ascii=False)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or _deeper_than(value, _DEPTH):
        return None
    if "\\u" in text:  # an escape may stand for a lone surrogate, which would not encode
        return dict(json.loads(clean_text(json.dumps(value, ensure_ascii=False))))
    return value


def _number(text: str) -> float | str:
    """Read a number; one that is too large for a float would not be JSON again."""
    value = float(text)
    return value if math.isfinite(value) else text


def _deeper_than(value: Any, levels: int) -> bool:
    """Tell whether containers are nested deeper than that, level by level."""
    layer = [value]
    for _ in range(levels):
        layer = [
            item
            for holder in layer
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list))
        ]
        if not layer:
            return False
    return True
