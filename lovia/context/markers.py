"""The texts that stand in a view for what compaction took out of it.

Each is a function of plain values and gives the same bytes for the same input, so that a decision
can be replayed from the transcript. All of them encode as UTF-8 whatever a tool or a model wrote,
and nothing that is quoted in one can close it. Nobody parses them: what a marker is, an entry's
``origin`` tells.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from lovia.context.summarizer.splitting import safe_cut
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from lovia.transcript.entries import ToolResultEntry

__all__ = [
    "cleared_result",
    "clipped_arguments",
    "persisted_result",
    "preview_of",
    "preview_only",
    "snipped",
]

_PERSISTED: Final = "persisted-tool-result"
_CLIPPED: Final = "tool-result-preview"
_TAG: Final = re.compile(rf"<(?=\s*/?\s*(?:{_PERSISTED}|{_CLIPPED})\b)", re.IGNORECASE)
_BREAKING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MOST_ID_CHARS: Final = 100  # of a call id that is shown; longer ones are shown by their beginning


def persisted_result(output: str, uri: str, preview_chars: int) -> str:
    """Return the marker of a tool result whose whole text is in an archive.

    Args:
        output: The result's text.
        uri: Where the archive keeps it.
        preview_chars: Characters of the text that are shown.
    """
    address = _BREAKING.sub(lambda match: quote(match[0], errors="surrogatepass"), uri)
    return (
        f"<{_PERSISTED}>\n"
        f"Full output archived at: {_escaped(address)}\n"
        f"Preview:\n"
        f"{_escaped(preview_of(output, preview_chars))}\n"
        f"</{_PERSISTED}>"
    )


def preview_only(output: str, preview_chars: int) -> str:
    """Return the marker of a tool result that nobody archived; it promises nothing.

    Args:
        output: The result's text.
        preview_chars: Characters of the text that are shown.
    """
    shown = output[: safe_cut(output, preview_chars)]
    return (
        f"<{_CLIPPED}>\n"
        f"{_escaped(clean_text(shown))}\n"
        f"</{_CLIPPED}>\n"
        f"({len(output) - len(shown):,} of {len(output):,} characters left out)"
    )


def cleared_result(entry: ToolResultEntry, *, number: int | None = None) -> str:
    """Return the marker of an old tool result that is no longer shown.

    It names what is needed to ask for the result again, without promising that anybody can answer.

    Args:
        entry: The result.
        number: Its position in the transcript, from 0, where that is known.
    """
    where = f"entry {number}, " if number is not None else ""
    what = "an error" if entry.is_error else "a result"
    size = f"{len(entry.output):,} characters"
    return f"[{what} of {size} is no longer shown here: {where}call_id {_quoted(entry.call_id)}]"


def snipped(start: int, stop: int) -> str:
    """Return the placeholder of entries that were taken out of the middle.

    Args:
        start: Position of the first of them in the transcript, from 0.
        stop: Position after the last.
    """
    count = stop - start
    if count == 1:
        return f"[1 earlier entry is no longer shown here: entry {start}]"
    return f"[{count:,} earlier entries are no longer shown here: entries {start} to {stop - 1}]"


def clipped_arguments(arguments: str, preview_chars: int) -> str:
    """Return shortened arguments of a call: a JSON object, as providers parse them.

    Args:
        arguments: The JSON text that the model wrote; may be none.
        preview_chars: Characters of the text that are kept.
    """
    kept = {
        "arguments_no_longer_shown": f"{len(arguments):,} characters",
        "preview": preview_of(arguments, preview_chars),
    }
    return json.dumps(kept, ensure_ascii=False)


def preview_of(text: str, chars: int) -> str:
    """Return the beginning of a text, at most ``chars`` characters, cut between characters.

    What a reader takes for one character is not cut in two where that can be avoided; lone
    surrogates become U+FFFD.
    """
    return clean_text(text[: safe_cut(text, chars)])


def _escaped(text: str) -> str:
    """Make the marker's own tags harmless inside it."""
    return _TAG.sub("&lt;", text)


def _quoted(call_id: str) -> str:
    """Write an id on one line, in quotes, cut when nobody would read it to its end."""
    shown = json.dumps(preview_of(call_id, _MOST_ID_CHARS), ensure_ascii=False)
    rest = len(call_id) - _MOST_ID_CHARS
    return f"{shown} and {rest:,} more characters" if rest > 0 else shown
