"""Finds what a summary must not garble: paths, addresses, commands, hashes, quantities, codes.

The scan is one pass that looks only at places where a *trigger* character stands (a digit, a slash,
a quote, ...) and at the word around it. Each character is visited a bounded number of times, so the
time is linear in the text whatever it holds. Text without triggers passes at the speed of a byte
search where it is ASCII, else of the regular expression engine's character search.

Measured in one run on one slow core, in million characters a second: 400 for prose without triggers
in ASCII and 100 for other prose, 5 for recorded sessions full of code and paths, 1 for the densest
hostile text (a trigger at every or every second character).
"""

from __future__ import annotations

import errno
import re
import string
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from lovia.transcript.entries import ToolCallEntry, TranscriptEntry, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_LENGTH", "Found", "IdentifierKind", "find_identifiers", "reads", "searchable"]

IdentifierKind: TypeAlias = Literal[
    "path", "address", "command", "hash", "quantity", "code", "name"
]

#: Shortest identifier in characters that is not a quantity, a command or a quoted name.
_MIN_LENGTH: Final = 3
#: Fewest digits of a number that names something without a unit.
_MIN_ID: Final = 6
#: Longest identifier in characters; longer runs (base64, minified code) are data, not identifiers.
MAX_LENGTH: Final = 200
#: Characters searched by one call of the expression engine, which lets no other thread run
#: meanwhile.
_STRIDE: Final = 250_000

_OPENING: Final = '"“«「『'
_TRIGGER: Final = re.compile(r'[0-9/\\_`"“«「『.E](?:(?<!\.)|(?=\w))')
_WORD_CHARACTER: Final = re.compile(r"\w")
_MARK: Final = 1
_MARKING: Final = bytes(
    _MARK if _TRIGGER.match(chr(code) + "a") else 0 for code in range(256)
)  # for each byte of an ASCII text, whether it can be a trigger
_MARKS: Final = "\"'`<>()[]{}|,;*!?="
_OTHER_MARKS: Final = "“”‘’«»「」『』，。；：、（）【】《》…"  # noqa: RUF001 - of other scripts
_DELIMITERS: Final = frozenset(" \t\r\n\f\v" + _MARKS + _OTHER_MARKS)
#: What ends a sentence or a bracket around an identifier rather than belonging to it.
_TRAILING: Final = ".:-)]}\\"
_ADDRESS_END: Final = re.compile(r"[^\s\"'`<>|]*")
_WORD_END: Final = re.compile(rf"[^\s{re.escape(_MARKS + _OTHER_MARKS)}]*")

_HAN_UNIT: Final = r"(?:[万亿]?美?元|[万亿块岁天秒年月日]|小时|分钟)"
_UNIT: Final = (
    r"(?:%|‰|°[CF]?|[kKMGTP]i?B|[kMGT]?bps|bytes?|tokens?|chars?|rows?|lines?|entries|items"
    r"|ns|[uµ]s|ms|secs?|seconds?|s|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?"
    r"|[kMG]?Hz|[nµmck]?m|km/h|[µmk]?g|m?l|[mk]?[VAW]|kWh|px|pt|rpm|fps"
    r"|USD|EUR|GBP|CNY|JPY)"
)
_NUMBER: Final = r"\d[\d,]{0,20}+(?:\.\d{1,12})?+"  # nothing to gain from giving digits back
_QUANTITY: Final = re.compile(rf"{_NUMBER}[ \u00a0]?+(?:{_UNIT}(?!\w)|{_HAN_UNIT})")
_MONEY: Final = re.compile(rf"{_NUMBER}(?:[kKMB]\b)?")
#: By far the most frequent word with a trigger, and no identifier.
_PLAIN_NUMBER: Final = re.compile(
    rf"\d{{1,{_MIN_ID - 1}}}+[{re.escape(_TRAILING)}]*+(?![^\s{re.escape(_MARKS + _OTHER_MARKS)}])"
)
_STATUS_WORDS: Final = ("http", "status", "code", "exit", "error", "errno")
_STATUS_BEFORE: Final = re.compile(
    r"(?:HTTP|(?:(?:exit|status|error) ?)?\w+)[ :=#]{1,2}\Z", re.IGNORECASE
)
_STATUS: Final = re.compile(r"\d{1,5}(?!\w|\.\d)")
#: A digit after one of these is not where a number begins.
_INSIDE_WORD: Final = frozenset(string.ascii_letters + string.digits + "._-/,")
_CURRENCY: Final = frozenset("$€£¥")

_BACKTICKED: Final = re.compile(r"`([^`\n]{2,160})`")
_QUOTED: Final = re.compile(
    r'"([^"\n]{2,80})"(?!\s{0,3}:)|“([^“”\n]{2,80})”|«([^«»\n]{2,80})»|「([^「」\n]{2,80})」|『([^『』\n]{2,80})』'
)
_JSON_KEY: Final = re.compile(r'"[^"\n]{0,80}"\s{0,3}:')
#: A quoted name is a few words without the punctuation of a sentence; a single plain word is none.
_NAME: Final = re.compile(r"(?![a-z]*$)\w(?:[\w .:/@#&+'-]*[\w)])?")
_MAX_NAME_WORDS: Final = 6

_EXTENSIONS: Final = (
    "py|pyi|ipynb|js|mjs|cjs|jsx|ts|tsx|vue|svelte|json|jsonl|ndjson|yaml|yml|toml|ini|cfg|conf|env|lock"
    "|md|rst|txt|csv|tsv|parquet|log|html?|css|scss|xml|svg|png|jpe?g|gif|webp|pdf|docx?|xlsx?|pptx?"
    "|rs|go|java|kt|scala|rb|php|cs?|h|hpp|cc|cpp|swift|lua|pl|r|jl|sh|bash|zsh|ps1|bat|sql|db|sqlite3?"
    "|proto|graphql|tf|gradle|make|mk|zip|tar|gz|tgz|whl|so|dll|exe|wasm|diff|patch|pem|key|crt"
)
_SEGMENT: Final = r"[\w.@+%~#&-]+"
_LINE: Final = r"(?::\d+)*"
_ERRNO_NAMES: Final = frozenset(errno.errorcode.values()) | {"ENOTFOUND", "EAI_AGAIN"}
_WORD: Final = re.compile(
    rf"""
      (?P<address>[A-Za-z][A-Za-z0-9+.-]{{1,20}}://\S+
          | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
          | (?:localhost|\d+\.\d+\.\d+\.\d+|[\w-]+(?:\.[\w-]+)+):\d{{2,5}}(?:/\S*)? )
    | (?P<path>(?:~|\.{{1,2}}|[A-Za-z]:)?/+{_SEGMENT}(?:/+{_SEGMENT})*/*{_LINE}
          | {_SEGMENT}(?:/+{_SEGMENT}){{2,}}/*{_LINE}
          | {_SEGMENT}/+[\w.@+%~#&-]*[\d._-][\w.@+%~#&-]*{_LINE}
          | (?:[A-Za-z]:|\.{{1,2}}|\\)\\+{_SEGMENT}(?:\\+{_SEGMENT})*
          | (?:{_SEGMENT}\\+)*[\w@+~-]+(?:\.[\w@+~-]+)*\.(?i:{_EXTENSIONS}){_LINE} )
    | (?P<hash>[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}
          | (?:sha\d+:|0x)[0-9a-fA-F]{{6,128}}
          | (?=[0-9a-fA-F]*[0-9])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{{7,128}}
          | \#?\d{{{_MIN_ID},20}} )
    | (?P<code>[A-Z]{{1,8}}(?:[-_]?\d{{2,8}})(?:-\d{{1,8}})* | \#\d{{1,6}}
          | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+
          | (?:\w+\.)*[A-Z]\w*(?:Error|Exception) )
    | (?P<quantity>v?\d+(?:\.\d+){{2,5}}(?:[-+.][\w.]+)? | v\d+(?:\.\d+){{0,5}}
          | \d{{4}}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)? )
    """,
    re.VERBOSE,
)


Found: TypeAlias = tuple[str, IdentifierKind]


def find_identifiers(text: str) -> Iterator[tuple[str, IdentifierKind]]:
    """Yield the identifiers of a text, in order, repeated ones each time."""
    return (found for _, found in reads(text) if found is not None)


def searchable(entry: TranscriptEntry) -> str:
    """Return an entry's text, with escaped quotes and line ends in JSON arguments undone."""
    if not isinstance(entry, ToolCallEntry):
        return text_of(entry)
    return entry.arguments.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def reads(text: str) -> Iterator[tuple[int, Found | None]]:
    """Yield where each trigger that is looked at stands, and what: ``None`` for no identifier."""
    find = _AsciiTriggers(text).find if text.isascii() else partial(_find_trigger, text)
    position = 0
    while (at := find(position)) >= 0:
        found, position = _read_at(text, at, position)
        yield at, found


def _find_trigger(text: str, position: int) -> int:
    """Return where the first trigger at or after ``position`` stands; -1 when none does."""
    for start in range(position, len(text), _STRIDE):
        trigger = _TRIGGER.search(text, start, start + _STRIDE + 1)
        if trigger is not None:
            return trigger.start()
    return -1


class _AsciiTriggers:
    """Finds triggers in a text that is all ASCII, several times as fast as the expression does.

    One translation marks the triggers of a stride, and finding a mark is a search for one byte.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = self._end = 0  # of the stride that is marked
        self._marks = b""

    def find(self, position: int) -> int:
        """Return where the first trigger at or after ``position`` stands; -1 when none does."""
        text = self._text
        while position < len(text):
            if position >= self._end:
                self._begin, self._end = position, position + _STRIDE
                self._marks = text[position : self._end].encode().translate(_MARKING)
            at = self._marks.find(_MARK, position - self._begin)
            if at < 0:
                position = self._end
                continue
            position = at + self._begin
            if text[position] != "." or _WORD_CHARACTER.match(text, position + 1):
                return position
            position += 1  # the end of a sentence
        return -1


def _read_at(text: str, at: int, floor: int) -> tuple[Found | None, int]:
    """Read what stands around the trigger at ``at``; return it and where to go on."""
    char = text[at]
    if char == "`":
        match = _BACKTICKED.match(text, at)
        return (_command(match[1]), match.end()) if match else (None, at + 1)
    if char in _OPENING:
        return _read_quoted(text, at)
    if "0" <= char <= "9" and (at == 0 or text[at - 1] not in _INSIDE_WORD):
        number = _read_quantity(text, at) or _read_status(text, at)
        if number is not None:
            return number
        if at == floor or text[at - 1] in _DELIMITERS:
            plain = _PLAIN_NUMBER.match(text, at)
            if plain is not None:
                return None, plain.end()
    return _read_word(text, at, floor)


def _read_quoted(text: str, at: int) -> tuple[Found | None, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        key = _JSON_KEY.match(text, at)
        return None, (key.end() if key else at + 1)
    content = match[match.lastindex or 1]
    word = _classify(content)
    if word is not None:
        return word, match.end()
    is_attribute = at > 0 and text[at - 1] == "="  # of markup, or an argument in code
    if not is_attribute and content.count(" ") < _MAX_NAME_WORDS and _NAME.fullmatch(content):
        return (content, "name"), match.end()
    return None, at + 1  # no name: look at what it holds


def _read_quantity(text: str, at: int) -> tuple[Found, int] | None:
    match = _QUANTITY.match(text, at)
    if match is None and at and text[at - 1] in _CURRENCY:
        match = _MONEY.match(text, at)
    if match is None or match.end() - at > MAX_LENGTH:
        return None
    start = at - 1 if at and text[at - 1] in _CURRENCY else at
    return (text[start : match.end()], "quantity"), match.end()


def _read_status(text: str, at: int) -> tuple[Found, int] | None:
    """Read `exit code 137` or `HTTP 404` when ``at`` is the number in it."""
    lead = text[max(at - 16, 0) : at]
    if not lead.rstrip(" :=#").lower().endswith(_STATUS_WORDS):
        return None
    number, words = _STATUS.match(text, at), _STATUS_BEFORE.search(lead)
    if number is None or words is None:
        return None
    return (words[0] + number[0], "code"), number.end()


def _read_word(text: str, at: int, floor: int) -> tuple[Found | None, int]:
    end = _WORD_END.match(text, at).end()  # type: ignore[union-attr] # matches the empty text too
    lowest, start = max(floor, at - MAX_LENGTH - 1), at
    while start > lowest and text[start - 1] not in _DELIMITERS:
        start -= 1
    if text.startswith("://", at - 1):
        end = _ADDRESS_END.match(text, at).end()  # type: ignore[union-attr] # likewise
    is_closing_tag = text[start] == "/" and start > 0 and text[start - 1] == "<"
    if is_closing_tag or end - start > MAX_LENGTH:
        return None, max(end, at + 1)
    return _classify(text[start:end].rstrip(_TRAILING).lstrip(":-")), end


def _classify(word: str) -> Found | None:
    if not _MIN_LENGTH <= len(word) <= MAX_LENGTH:
        return None
    if word.isdecimal() and len(word) < _MIN_ID:
        return None
    if word in _ERRNO_NAMES:
        return word, "code"
    match = _WORD.fullmatch(word)
    return (word, match.lastgroup) if match else None  # type: ignore[return-value] # a kind


def _command(content: str) -> Found | None:
    content = content.strip()
    if not any(char.isalnum() for char in content) or "${" in content:  # a template, not a command
        return None
    return _classify(content) or (content, "command")
