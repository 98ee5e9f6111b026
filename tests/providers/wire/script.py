"""What the local server answers: the same words for all wire formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """A text."""

    text: str


@dataclass(frozen=True)
class Thought:
    """A thought; the server signs it in the way of its vendor."""

    text: str = ""


@dataclass(frozen=True)
class Redacted:
    """A thought that the vendor hides (Messages only)."""


@dataclass(frozen=True)
class Refusal:
    """A refusal in a field of its own (OpenAI only)."""

    text: str


@dataclass(frozen=True)
class CallTool:
    """A call; `arguments` as text is sent as it is."""

    name: str
    arguments: Any = field(default_factory=dict)
    id: str | None = None

    @property
    def written(self) -> str:
        """The arguments as JSON text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


Block: TypeAlias = Text | Thought | Redacted | Refusal | CallTool


@dataclass(frozen=True)
class Spent:
    """What a call reports: the whole prompt, of which some was read from or written to a cache."""

    prompt: int = 10
    answer: int = 5
    read: int = 0
    written: int = 0
    thinking: int = 0


@dataclass(frozen=True)
class Answer:
    """One answer, and what happens to its stream.

    `cut` breaks the connection after so many events, `end` ends the stream politely there,
    `garbage` sends something that is no JSON there, `stall` waits there for that many seconds.
    `finish` is the vendor's word for why the answer ended.
    """

    blocks: tuple[Block, ...]
    finish: str | None = None
    spent: Spent | None = None
    cut: int | None = None
    end: int | None = None
    garbage: int | None = None
    stall: tuple[int, float] | None = None
    report: tuple[int, dict[str, Any]] | None = None  # an error of the vendor's, inside the stream


@dataclass(frozen=True)
class Failure:
    """An answer that is an error."""

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Request:
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Scripted: TypeAlias = Answer | Failure
Responder: TypeAlias = Callable[[Request], Scripted]


def says(*blocks: Block | str, **how: Any) -> Answer:
    """Return an answer; a bare string is a text."""
    made = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return Answer(made, **how)
