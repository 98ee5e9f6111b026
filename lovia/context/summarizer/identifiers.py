"""Finds what a summary must not garble: paths, addresses, commands, hashes, quantities, codes, names.

The scan is one pass that looks only at places where a *trigger* character stands (a digit, a slash, a
quote, ...) and at the word around it. Each character is visited a bounded number of times, so the time
is linear in the text whatever it holds. Text without triggers passes at the speed of the regular
expression engine's character search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["Identifier", "IdentifierKind", "find_identifiers", "scan"]

IdentifierKind: TypeAlias = Literal["path", "address", "command", "hash", "quantity", "code", "name"]

#: Longest identifier in characters; longer runs (base64, minified code) are data, not identifiers.
MAX_LENGTH: Final = 200
#: Most distinct identifiers that one scan keeps apart.
MAX_DISTINCT: Final = 50_000
#: Most characters that one scan reads, newest text first.
MAX_SCANNED: Final = 64_000_000

_OPENING: Final = '"“«「『'
_TRIGGER: Final = re.compile(r'[0-9/\\_`"“«「『.E](?:(?<!\.)|(?=\w))')
_DELIMITERS: Final = frozenset(" \t\r\n\f\v\"'`<>()[]{}|,;*!?=“”‘’«»「」『』，。；：、（）【】《》…")
_WORD_END: Final = re.compile(r"[^\s\"'`<>()\[\]{}|,;*!?=“”‘’«»「」『』，。；：、（）【】《》…]*")

_UNIT: Final = (
    r"(?:%|‰|°[CF]?|[kKMGTP]i?B|[kMGT]?bps|bytes?|tokens?|chars?|rows?|lines?|entries|items"
    r"|ns|[uµ]s|ms|secs?|seconds?|s|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?"
    r"|[kMG]?Hz|[nµmck]?m|km/h|[µmk]?g|m?l|[mk]?[VAW]|kWh|px|pt|rpm|fps"
    r"|USD|EUR|GBP|CNY|JPY|元|万|亿|块|美元|岁|天|小时|分钟|秒|年|月|日)"
)
_NUMBER: Final = r"\d[\d,]*(?:\.\d+)?"
_QUANTITY: Final = re.compile(
    rf"{_NUMBER}[ \u00a0]?{_UNIT}(?!\w)|{_NUMBER}(?:元|万|亿|块|美元|岁|天|小时|分钟|秒|年|月|日)"
)
_MONEY: Final = re.compile(rf"{_NUMBER}(?:[kKMB]\b)?")
_CURRENCY: Final = frozenset("$€£¥")

_BACKTICKED: Final = re.compile(r"`([^`\n]{2,160})`")
_QUOTED: Final = re.compile(
    r'"([^"\n]{2,80})"(?!\s{0,3}:)|“([^“”\n]{2,80})”|«([^«»\n]{2,80})»|「([^「」\n]{2,80})」|『([^『』\n]{2,80})』'
)
_JSON_KEY: Final = re.compile(r'"[^"\n]{0,80}"\s{0,3}:')
#: A quoted name is a few words without the punctuation of a sentence.
_NAME: Final = re.compile(r"\w(?:[\w .:/@#&+'-]*[\w)])?")
_MAX_NAME_WORDS: Final = 6

_EXTENSIONS: Final = (
    "py|pyi|ipynb|js|mjs|cjs|jsx|ts|tsx|vue|svelte|json|jsonl|ndjson|yaml|yml|toml|ini|cfg|conf|env|lock"
    "|md|rst|txt|csv|tsv|parquet|log|html?|css|scss|xml|svg|png|jpe?g|gif|webp|pdf|docx?|xlsx?|pptx?"
    "|rs|go|java|kt|scala|rb|php|cs?|h|hpp|cc|cpp|swift|lua|pl|r|jl|sh|bash|zsh|ps1|bat|sql|db|sqlite3?"
    "|proto|graphql|tf|gradle|make|mk|zip|tar|gz|tgz|whl|so|dll|exe|wasm|diff|patch|pem|key|crt"
)
_SEGMENT: Final = r"[\w.@+%~#&-]+"
_SEPARATOR: Final = r"[/\\]+"
_WORD: Final = re.compile(
    rf"""
      (?P<address>[A-Za-z][A-Za-z0-9+.-]{{1,20}}://\S+
          | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
          | (?:localhost|\d+\.\d+\.\d+\.\d+|[\w-]+(?:\.[\w-]+)+):\d{{2,5}}(?:/\S*)? )
    | (?P<path>(?:[~.]{{1,2}}|[A-Za-z]:)?{_SEPARATOR}{_SEGMENT}(?:{_SEPARATOR}{_SEGMENT})*{_SEPARATOR}?(?::\d+)*
          | {_SEGMENT}(?:{_SEPARATOR}{_SEGMENT}){{2,}}{_SEPARATOR}?(?::\d+)*
          | {_SEGMENT}{_SEPARATOR}[\w.@+%~#&-]*[\d._-][\w.@+%~#&-]*(?::\d+)*
          | [\w@+~-]+(?:\.[\w@+~-]+)*\.(?i:{_EXTENSIONS})(?::\d+)* )
    | (?P<hash>[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}
          | (?:sha\d+:|0x)[0-9a-fA-F]{{6,128}}
          | (?=[0-9a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{{7,128}}
          | \#?\d{{5,20}} )
    | (?P<code>[A-Z]{{1,8}}(?:[-_]?\d{{2,8}})(?:-\d{{1,8}})* | \#\d{{1,6}}
          | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+ | E[A-Z]{{5,14}}
          | [A-Za-z_][\w.]*(?:Error|Exception) )
    | (?P<quantity>v?\d+(?:\.\d+){{2,5}}(?:[-+.][\w.]+)? | v\d+(?:\.\d+){{0,5}}
          | \d{{4}}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)? )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier of a span.

    Attributes:
        text: As it stands in the span.
        kind: What it looks like.
        uses: How often it occurs.
        position: Where it occurs last: from 0 (oldest text) to 1 (newest text).
    """

    text: str
    kind: IdentifierKind
    uses: int = 1
    position: float = 1.0


def find_identifiers(text: str) -> Iterator[tuple[str, IdentifierKind]]:
    """Yield the identifiers of a text, in order, repeated ones each time."""
    position, length = 0, len(text)
    while position < length:
        trigger = _TRIGGER.search(text, position)
        if trigger is None:
            return
        found, position = _read_at(text, trigger.start(), position)
        if found is not None:
            yield found


def scan(texts: Iterable[str]) -> dict[str, Identifier]:
    """Return the identifiers of a span, by their text.

    Args:
        texts: The texts of the span, *newest first*: what does not fit the bounds of one scan (64
            million characters, 50,000 distinct identifiers) is the oldest.
    """
    batch = list(texts)
    seen: dict[str, list[float]] = {}  # uses, position of the newest one
    kinds: dict[str, IdentifierKind] = {}
    left = MAX_SCANNED
    for age, text in enumerate(batch):
        position = 1.0 - age / len(batch)
        for name, kind in find_identifiers(text[:left]):
            if name in seen:
                seen[name][0] += 1
            elif len(seen) < MAX_DISTINCT:
                seen[name] = [1, position]
                kinds[name] = kind
        left -= len(text)
        if left <= 0:
            break
    return {
        name: Identifier(name, kinds[name], int(uses), position)
        for name, (uses, position) in seen.items()
    }


_Found: TypeAlias = tuple[str, IdentifierKind]


def _read_at(text: str, at: int, floor: int) -> tuple[_Found | None, int]:
    """Read what stands around the trigger at ``at``; return it and where to go on."""
    char = text[at]
    if char == "`":
        match = _BACKTICKED.match(text, at)
        return (_command(match[1]), match.end()) if match else (None, at + 1)
    if char in _OPENING:
        return _read_quoted(text, at)
    if char.isdigit() and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "._-/")):
        quantity = _read_quantity(text, at)
        if quantity is not None:
            return quantity
    return _read_word(text, at, floor)


def _read_quoted(text: str, at: int) -> tuple[_Found | None, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        key = _JSON_KEY.match(text, at)
        return None, (key.end() if key else at + 1)
    content = match[match.lastindex or 1]
    word = _classify(content)
    if word is not None:
        return word, match.end()
    if _NAME.fullmatch(content) and content.count(" ") < _MAX_NAME_WORDS:
        return (content, "name"), match.end()
    return None, at + 1  # no name: look at what it holds


def _read_quantity(text: str, at: int) -> tuple[_Found, int] | None:
    match = _QUANTITY.match(text, at)
    if match is None and at and text[at - 1] in _CURRENCY:
        match = _MONEY.match(text, at)
    if match is None or match.end() - at > MAX_LENGTH:
        return None
    start = at - 1 if at and text[at - 1] in _CURRENCY else at
    return (text[start : match.end()], "quantity"), match.end()


def _read_word(text: str, at: int, floor: int) -> tuple[_Found | None, int]:
    end = _WORD_END.match(text, at).end()  # type: ignore[union-attr] # it matches the empty text as well
    lowest, start = max(floor, at - MAX_LENGTH), at
    while start > lowest and text[start - 1] not in _DELIMITERS:
        start -= 1
    if end - start > MAX_LENGTH:
        return None, max(end, at + 1)
    return _classify(text[start:end].strip(".:-/\\") if end > at else ""), max(end, at + 1)


def _classify(word: str) -> _Found | None:
    if not word or len(word) > MAX_LENGTH:
        return None
    match = _WORD.fullmatch(word)
    return (word, match.lastgroup) if match else None  # type: ignore[return-value] # groups are kinds


def _command(content: str) -> _Found | None:
    content = content.strip()
    if not content or not any(char.isalnum() for char in content):
        return None
    return _classify(content) or (content, "command")
