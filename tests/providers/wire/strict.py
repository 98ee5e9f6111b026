"""How the local server refuses: at the first thing that the vendor would refuse."""

from __future__ import annotations

import re
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class RefusedError(Exception):
    """The request breaks a rule of the wire; the message names the place in it."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")


def demand(condition: object, where: str, problem: str) -> None:
    """Refuse the request unless the condition holds."""
    if not condition:
        raise RefusedError(where, problem)


def known_fields(value: Any, where: str, *kinds: Any, also: tuple[str, ...] = ()) -> dict[str, Any]:
    """Refuse a value that is no object, or has a field that none of the SDK's types has."""
    demand(isinstance(value, dict), where, "must be an object")
    known = {name for kind in kinds for name in kind.__annotations__} | set(also)
    unknown = sorted(set(value) - known)
    demand(not unknown, where, f"unknown fields {unknown}")
    return dict(value)


def filled(text: Any, where: str) -> str:
    """Refuse a text that is none, or blank, or does not encode."""
    demand(isinstance(text, str), where, "must be a string")
    demand(text.strip(), where, "text must be non-empty and more than whitespace")
    text.encode()
    return str(text)


def tokens_in(body: Any) -> int:
    """Return the size of a request as the server counts it: a token for four characters."""
    return len(str(body)) // 4
