"""In what Anthropic's models differ from each other.

A name that nobody knows is taken for a newer model than those that are told apart here. Sources:
the vendor's pages on preserved thinking, on mid-conversation system messages and on its models,
read in November 2026.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["binds_thoughts", "longest_answer", "takes_instructions"]

_MODEL: Final = re.compile(
    r"claude-(?P<family>[a-z]+)-(?P<major>\d)(?:-(?P<minor>\d)(?!\d))?"  # claude-opus-4-8
    r"|claude-(?P<old_major>\d)(?:-(?P<old_minor>\d)(?!\d))?"  # claude-3-7-sonnet
)
_NEWEST: Final = (99, 0)
_PREVIEW: Final = "claude-mythos-preview"

# Since Claude Fable 5.1.
_BOUND: Final = (5, 1)
# Since Claude Opus 4.8 and the whole of generation 5, but for Claude Sonnet 5.
_INSTRUCTED: Final = {"opus": (4, 8), "sonnet": (5, 1)}
_INSTRUCTED_OTHERS: Final = (5, 0)

_DEFAULT_ANSWER: Final = 32_000
_OLD_ANSWERS: Final = {(3, 0): 4_096, (3, 5): 8_192}


def binds_thoughts(model: str) -> bool:
    """Tell whether the model refuses a thought when anything before it has changed."""
    return _version(model) >= _BOUND


def takes_instructions(model: str) -> bool:
    """Tell whether the model takes system messages after the conversation has begun."""
    found = _MODEL.search(model)
    family = found["family"] if found else ""
    needed = _INSTRUCTED.get(family or "", _INSTRUCTED_OTHERS)
    return _PREVIEW not in model and _version(model) >= needed


def longest_answer(model: str) -> int:
    """Return the upper bound of generated tokens, which the protocol demands, where none is set."""
    return _OLD_ANSWERS.get(_version(model), _DEFAULT_ANSWER)


def _version(model: str) -> tuple[int, int]:
    found = _MODEL.search(model)
    if found is None:
        return _NEWEST
    major, minor = found["major"] or found["old_major"], found["minor"] or found["old_minor"]
    return int(major), int(minor or 0)
