"""Reading values out of JSON that may be damaged: what is not of the expected kind is refused.

Python is generous where this must not be: ``int`` takes text, fractions and truth values, and JSON
as Python reads it knows infinities.
"""

from __future__ import annotations

import math

__all__ = ["number", "text", "whole"]


def text(value: object) -> str:
    """Return a text; raises ``ValueError`` for anything else."""
    if not isinstance(value, str):
        raise _wrong("a text", value)
    return value


def whole(value: object, *, least: int = 0) -> int:
    """Return a whole number that is not too small; raises ``ValueError`` for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise _wrong(f"a whole number of at least {least}", value)
    return value


def number(value: object, *, least: float = 0.0, most: float = math.inf) -> float:
    """Return a finite number within bounds; raises ``ValueError`` for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _wrong("a number", value)
    if not math.isfinite(value) or not least <= value <= most:
        raise _wrong(f"a number from {least:g} to {most:g}", value)
    return float(value)


def _wrong(expected: str, found: object) -> ValueError:
    return ValueError(f"expected {expected}, found {str(found)[:40]!r}")
