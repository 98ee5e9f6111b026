"""Ids and names that a vendor accepts, for those that a transcript really holds.

Models reuse ids, invent tools and write either at any length, and another vendor's ids may not fit
this one's rules. What does not fit is replaced by a digest of itself, so that the same transcript
always gives the same request.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CallIds", "ToolNames", "tool_name"]

# The names that both vendors accept (OpenAI: function.name, Anthropic: tools.name, up to 64).
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_KEPT: Final = 48  # characters of a refused name that its replacement begins with


class CallIds:
    """Gives each call of one request an id of its own.

    Args:
        allowed: A regular expression that the vendor's ids match from end to end.
    """

    def __init__(self, allowed: str) -> None:
        self._allowed = re.compile(allowed)
        self._seen: Counter[str] = Counter()
        self._taken: set[str] = set()

    def take(self, call_id: str) -> str:
        """Return the wire's id for the next call with this id.

        An id that fits and is free stays as it is. The answer depends on the calls before this one
        alone, so it does not change as a conversation grows.
        """
        self._seen[call_id] += 1
        occurrence = self._seen[call_id]
        wire = call_id if self._fits(call_id) else self._replacement(call_id, occurrence)
        self._taken.add(wire)
        return wire

    def _fits(self, candidate: str) -> bool:
        return candidate not in self._taken and self._allowed.fullmatch(candidate) is not None

    def _replacement(self, call_id: str, occurrence: int) -> str:
        digest = sha256(f"{occurrence}:{call_id}".encode()).hexdigest()
        # The second form is for the vendors that want nine letters and digits.
        fitting = (c for c in (f"call_{digest[:32]}", digest[:9]) if self._fits(c))
        return next(fitting, digest[:32])


class ToolNames:
    """The names of the tools that a request offers, as the wire writes them, and back.

    Args:
        tools: Function schemas, as providers get them.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        names = [str(tool["function"]["name"]) for tool in tools]
        self._own = {tool_name(name): name for name in names}

    def own(self, wire: str) -> str:
        """Return the tool's own name for what a model calls it."""
        return self._own.get(wire, wire)


def tool_name(name: str) -> str:
    """Return a tool's name as the wire accepts it; one that is accepted stays as it is."""
    if _NAME.fullmatch(name):
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _NOT_IN_NAMES.sub("_", name)[:_KEPT].strip("_")
    return f"{readable or 'tool'}_{digest}"
