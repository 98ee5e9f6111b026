"""What the catalogue says of one attribute, one span or one log event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "int", "double", "boolean", "string[]"]
Value = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True)
class Attribute:
    """One attribute.

    Attributes:
        name: Its key.
        type: The type of its value.
        meaning: What it says, in a sentence without its full stop.
        example: A value that it may have.
        unit: Of a number, as UCUM writes it; empty: it is none, or counts what its name says.
        values: All values that it may have; empty: any.
        elsewhere: Only sources other than lovia's own runtime know it.
    """

    name: str
    type: Type
    meaning: str
    example: Value
    unit: str = ""
    values: tuple[str, ...] = ()
    elsewhere: bool = False


@dataclass(frozen=True)
class Span:
    """One kind of span.

    Attributes:
        name: Its name, or the first word of it.
        rest: What follows in the name; empty: nothing.
        kind: Its kind, or its kinds.
        meaning: Which work it covers, in a sentence without its full stop.
        start: Attributes that it begins with, where they are known: a sampler sees these.
        end: Attributes that it is given until it ends.
        link: Attributes of its links.
    """

    name: str
    rest: str
    kind: str
    meaning: str
    start: tuple[str, ...]
    end: tuple[str, ...]
    link: tuple[str, ...] = ()

    @property
    def attributes(self) -> frozenset[str]:
        """All of its attributes."""
        return frozenset(self.start + self.end)


@dataclass(frozen=True)
class LogEvent:
    """One kind of log event.

    Attributes:
        name: Its event name.
        severity: Its severity.
        meaning: What happened, in a sentence without its full stop.
        attributes: What it tells, as far as it is known.
    """

    name: str
    severity: Literal["DEBUG", "INFO", "WARN"]
    meaning: str
    attributes: tuple[str, ...]
