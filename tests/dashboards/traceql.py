"""A small grammar of TraceQL: as much of Tempo's language as these dashboards use.

    query  = "{" condition { "&&" condition } "}" { "|" stage }
    stage  = "select(" field { "," field } ")"
           | "rate()" [ by ] | "quantile_over_time(duration" { "," number } ")" [ by ]
    by     = "by" "(" field ")"

Written from the language's documentation; there is no Tempo in the package registries to ask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>\d+(?:\.\d+)?(?:ms|s|m|h)?(?![\w.]))"
    r"|(?P<variable>\$\w+)"
    r"|(?P<word>[A-Za-z_][\w.]*)"
    r"|(?P<sign>&&|=~|!~|!=|>=|<=|[={}()|,<>]))"
)
_INTRINSIC: Final = {"name", "duration", "status"}
_STATUS: Final = {"ok", "error", "unset"}


class TraceQLError(AssertionError):
    """A query is not in the language."""


@dataclass(frozen=True)
class Condition:
    """A field, a comparison and a value: a text, number, boolean, or what a variable stands for."""

    name: str
    sign: str
    value: str | float | bool


@dataclass
class Query:
    """What a query compares, and what it shows or groups by, by the names of fields."""

    conditions: list[Condition] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._left: list[tuple[str, str]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise TraceQLError(f"not TraceQL at {text[place:]!r}")
            self._left.append((match.lastgroup or "", match[match.lastgroup or 0]))
            place = match.end()

    def peek(self) -> str:
        return self._left[0][1] if self._left else ""

    def take(self, *wanted: str) -> str:
        """Return the next token, which has to be one of these, or of one of these kinds."""
        kind, text = self._left.pop(0) if self._left else ("end", "the end")
        if text not in wanted and kind not in wanted:
            raise TraceQLError(f"{text} where {' or '.join(wanted)} belongs")
        return text


def parse(text: str) -> Query:
    """Return what a query asks.

    Raises:
        TraceQLError: It is not in the language.
    """
    tokens, query = _Tokens(text), Query()
    tokens.take("{")
    query.conditions.append(_condition(tokens))
    while tokens.take("&&", "}") == "&&":
        query.conditions.append(_condition(tokens))
    while tokens.peek():
        tokens.take("|")
        _stage(tokens, query)
    return query


def _condition(tokens: _Tokens) -> Condition:
    name = _field(tokens)
    sign = tokens.take("=", "!=", "=~", "!~", ">", ">=", "<", "<=")
    value = tokens.take("text", "number", "variable", "word")
    if name == "duration" and not re.fullmatch(r"\$\w+|\d+(\.\d+)?(ms|s|m|h)", value):
        raise TraceQLError(f"{value} is no duration")
    if name == "status" and value not in _STATUS:
        raise TraceQLError(f"{value} is no status")
    return Condition(name, sign, _value(value))


def _value(text: str) -> str | float | bool:
    if text.startswith('"'):
        return text[1:-1]
    if text in {"true", "false"}:
        return text == "true"
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else text


def _field(tokens: _Tokens) -> str:
    name = tokens.take("word")
    if name not in _INTRINSIC and not name.startswith(("span.", "resource.")):
        raise TraceQLError(f"{name} says neither span nor resource")
    return name


def _stage(tokens: _Tokens, query: Query) -> None:
    match tokens.take("select", "rate", "quantile_over_time"):
        case "select":
            query.shown += _fields(tokens)
            return
        case "rate":
            tokens.take("(")
            tokens.take(")")
        case _:
            tokens.take("(")
            tokens.take("duration")
            while tokens.take(",", ")") == ",":
                tokens.take("number")
    if tokens.peek() == "by":
        tokens.take("by")
        query.shown += _fields(tokens)


def _fields(tokens: _Tokens) -> list[str]:
    tokens.take("(")
    names = [_field(tokens)]
    while tokens.take(",", ")") == ",":
        names.append(_field(tokens))
    return names
