"""JSON values that know where they were found, so that every complaint names its place."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from lovia.errors import TranscriptFormatError

__all__ = ["Located", "json_text", "parse_json", "parse_lines"]

_HINT: Final = "Correct the file at that place, or name its format if it was taken for another one."
_NAMES: Final = {type(None): "nothing", bool: "true or false", int: "a number", float: "a number"}
_QUOTED: Final = 40  # characters of a text that an error message repeats
_NESTED_HINT: Final = (
    "A transcript is nested a few levels deep; look for a list that was never closed."
)


class Located:
    """A JSON value and its place: the source, a label such as ``line 7``, and the path within.

    The accessors return plain values of the type that their name says, and raise
    :class:`~lovia.errors.TranscriptFormatError` naming the place when the value is of another type.
    The path is put together only when somebody asks for it.
    """

    __slots__ = ("_key", "_parent", "label", "source", "value")

    def __init__(self, value: Any, *, source: str, label: str = "") -> None:
        self.value: Any = value
        self.source: str = source
        self.label: str = label
        self._parent: Located | None = None
        self._key: str | int = ""

    def _child(self, key: str | int, value: Any) -> Located:
        child = Located(value, source=self.source, label=self.label)
        child._parent = self
        child._key = key
        return child

    @property
    def position(self) -> str | None:
        """Where the value is, such as ``line 7, content[0].text``; ``None`` for a whole file."""
        keys: list[str] = []
        node = self
        while node._parent is not None:
            keys.append(f"[{node._key}]" if isinstance(node._key, int) else f".{node._key}")
            node = node._parent
        path = "".join(reversed(keys)).removeprefix(".")
        return ", ".join(part for part in (self.label, path) if part) or None

    def error(self, expected: str, *, hint: str = _HINT) -> TranscriptFormatError:
        """Return the error that says what was expected here and what was found instead."""
        place = ": ".join(part for part in (self.source, self.position) if part)
        message = f"{place}: expected {expected}, found {_describe(self.value)}."
        return TranscriptFormatError(
            message, source=self.source, position=self.position, expected=expected, hint=hint
        )

    def at(self, key: str) -> Located:
        """Return the member of an object; an absent one is ``None`` at its place."""
        return self._child(key, self.object("an object").get(key))

    def first(self, *keys: str) -> Located:
        """Return the first of several members that is there and not ``None``."""
        found = self.object("an object")
        key = next((key for key in keys if found.get(key) is not None), keys[0])
        return self._child(key, found.get(key))

    def object(self, expected: str) -> Mapping[str, Any]:
        """Return the value as a mapping; ``expected`` says in words what should stand here."""
        if isinstance(self.value, Mapping):
            return self.value
        raise self.error(expected)

    def items(self, expected: str = "a list") -> list[Located]:
        """Return the elements of a list, each with its place."""
        if isinstance(self.value, (list, tuple)):
            return [self._child(index, value) for index, value in enumerate(self.value)]
        raise self.error(expected)

    def text(self, default: str | None = None) -> str:
        """Return a text; an absent one is ``default``, or an error when there is none."""
        if isinstance(self.value, str):
            return self.value
        if self.value is None and default is not None:
            return default
        raise self.error("text")

    def optional_text(self) -> str | None:
        """Return a text, or ``None`` for an absent or empty one."""
        return self.text("") or None

    def identifier(self) -> str:
        """Return an id as text: numbers are written out, an absent id is empty."""
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            return str(self.value)
        if self.value is None or isinstance(self.value, str):
            return self.value or ""
        raise self.error("an id (text or a number)")

    def flag(self) -> bool:
        """Return a truth value; an absent one is false."""
        if self.value is None or isinstance(self.value, bool):
            return bool(self.value)
        raise self.error("true or false")

    def choice(self, options: Collection[str], default: str | None = None) -> str:
        """Return a text that is one of a few; an absent one is ``default``."""
        value = default if self.value is None else self.value
        if isinstance(value, str) and value in options:
            return value
        raise self.error("one of " + ", ".join(options))


def parse_json(text: str, *, source: str, label: str = "") -> Located:
    """Parse a JSON text.

    Raises:
        TranscriptFormatError: The text is no JSON, or is nested too deeply to be read; the error
            names the line and column.
    """
    try:
        return Located(json.loads(text), source=source, label=label)
    except json.JSONDecodeError as error:
        raise _syntax_error(error, source=source, label=label) from None
    except RecursionError:
        message = f"{_place(source, label)} is nested too deeply."
        expected, hint = "values nested a few levels deep", _NESTED_HINT
    except ValueError as error:  # a number of more digits than Python converts
        message = f"{_place(source, label)}: {error}"
        expected, hint = "numbers of ordinary length", "Write very long numbers as text."
    raise TranscriptFormatError(
        message, source=source, position=label or None, expected=expected, hint=hint
    )


def parse_lines(lines: Iterable[str], *, source: str) -> Iterator[Located]:
    """Parse JSON values, one a line; blank lines are passed over, and lines count from 1.

    Raises:
        TranscriptFormatError: A line is no JSON; the error names it.
    """
    for number, line in enumerate(lines, 1):
        if line and not line.isspace():
            yield parse_json(line, source=source, label=f"line {number}")


def json_text(value: Any) -> str:
    """Write a JSON value as the text that an entry keeps of it."""
    return json.dumps(value, ensure_ascii=False)


def _place(source: str, label: str) -> str:
    return ": ".join(part for part in (source, label) if part)


def _syntax_error(error: json.JSONDecodeError, *, source: str, label: str) -> TranscriptFormatError:
    """Say where a JSON text is damaged, and whether it looks cut off rather than mistyped."""
    column = f"column {error.colno}"
    position = ", ".join([label or f"line {error.lineno}", column])
    cut_off = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
    hint = (
        "The text ends in the middle of a value; it was probably cut off while it was written."
        if cut_off
        else "Correct the JSON at that place."
    )
    return TranscriptFormatError(
        f"{_place(source, position)}: not JSON: {error.msg}.",
        source=source,
        position=position,
        expected="JSON",
        hint=hint,
    )


def _describe(value: Any) -> str:
    """Name a JSON value for an error message, without repeating text of unknown size and origin."""
    if isinstance(value, str):
        return f"the text {value!a}" if len(value) <= _QUOTED else "a long text"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    kind = "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
    return _NAMES.get(type(value), kind)
