"""What the parts of a request take beside plain text, in tokens.

Everything here works with any measure of text: a counter hands in its own ``text`` function. Bytes
of an image or a document are never counted as text; the vendors price them by what they show.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from lovia.errors import UserError
from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)

__all__ = [
    "BYTES_PER_PAGE",
    "CHARS_PER_OPAQUE_TOKEN",
    "ENTRY_TOKENS",
    "IMAGE_TOKENS",
    "LOW_DETAIL_IMAGE_TOKENS",
    "MOST_PAGES",
    "PAGE_TOKENS",
    "TextMeasure",
    "entry_tokens",
    "file_tokens",
    "image_tokens",
    "not_an_entry",
    "schema_text",
]

TextMeasure: TypeAlias = Callable[[str], int]

#: Tokens around each entry: role, start and end. OpenAI's chat format takes 3 and a role name;
#: what other vendors wrap around calls and results is left to calibration.
ENTRY_TOKENS: Final = 4

#: Tokens of an image, whatever its bytes. Anthropic charges width x height / 750 after scaling the
#: image into 1.15 megapixels, so about 1,600 at most; OpenAI's tiles of 512 pixels come to 765 for
#: a square image, and 1,105 for a tall one.
IMAGE_TOKENS: Final = 1_600

#: Tokens of an image sent with low detail: OpenAI's flat price.
LOW_DETAIL_IMAGE_TOKENS: Final = 85

#: Tokens of a document page: the upper end of the 1,500 to 3,000 that Anthropic states for PDF.
PAGE_TOKENS: Final = 3_000

#: Bytes of a document that make a page, where it does not say how many pages it has. A guess: pages
#: of text take less, scanned ones more.
BYTES_PER_PAGE: Final = 50_000

#: Pages that a document has at most: Anthropic and OpenAI refuse more than 100 in a request.
MOST_PAGES: Final = 100

#: Characters of a reasoning signature or of other opaque data in a token. Providers bill what is
#: sealed inside, not its base64 text; a session of 2 million such characters was billed 489,000
#: tokens more than the same session without them.
CHARS_PER_OPAQUE_TOKEN: Final = 4

_TEXT_TYPES: Final = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/typescript",
        "application/x-ndjson",
        "application/x-python",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
_TEXT_SUFFIX: Final = re.compile(
    r"c|cc|cfg|cpp|cs|css|csv|diff|go|h|hpp|html?|ini|java|jsonl?|jsx?|kt|log|md|patch|php|py|rb|rs"
    r"|rst|scala|sh|sql|swift|tex|toml|tsv|tsx?|txt|xml|ya?ml"
)
_IMAGE_SUFFIX: Final = re.compile(r"avif|bmp|gif|heic|jpe?g|png|tiff?|webp")
#: Characters of base64 text that are read of a file, 256 KiB; the rest is taken to be alike.
_READ: Final = 256 * 1024 // 3 * 4
#: Where a PDF says how many pages it has, unless it is packed.
_PAGE_TREE: Final = re.compile(rb"/Type\s{0,9}/Pages\b")
_PAGE_COUNT: Final = re.compile(rb"/Count\s{1,9}(\d{1,6})")
#: So many of these places are looked at, and so many bytes around each, which is room for the
#: names of a hundred pages: no file makes the search long.
_MOST_TREES: Final = 64
_AROUND_TREE: Final = 1_000


def entry_tokens(entry: TranscriptEntry, text: TextMeasure) -> int:
    """Return the tokens of one entry, its framing included; always at least :data:`ENTRY_TOKENS`.

    Call ids are part of the price on both sides: some vendors render them into the prompt, and ids
    of more than a kilobyte exist.

    Args:
        entry: The entry.
        text: Measures plain text.

    Raises:
        UserError: It is no transcript entry.
    """
    price = _PRICES.get(type(entry))
    if price is None:
        raise not_an_entry(entry)
    return ENTRY_TOKENS + price(entry, text)


def not_an_entry(value: object) -> UserError:
    """Return the error that says what was handed in instead of an entry."""
    message = f"Cannot count the tokens of {type(value).__name__}: it is no transcript entry."
    return UserError(message, hint="Pass entries from lovia.transcript, not vendor messages.")


def image_tokens(part: ImagePart) -> int:
    """Return the tokens of an image; its bytes do not matter, only the requested detail does."""
    return LOW_DETAIL_IMAGE_TOKENS if part.detail == "low" else IMAGE_TOKENS


def file_tokens(part: FilePart, text: TextMeasure) -> int:
    """Return the tokens of a file.

    An image file is priced as an image, a text-like file as the text it holds, anything else by its
    pages: those that a PDF says it has, else one for each :data:`BYTES_PER_PAGE` bytes. Of a file
    that is only an address nobody knows the size: it counts as one page.
    """
    blob = _Blob.of(part)
    if blob.kind == "image":
        return IMAGE_TOKENS
    if blob.data is None:
        return PAGE_TOKENS
    content = blob.as_text() if blob.kind == "text" else None
    if content is not None:
        return round(text(content.text) * content.scale)
    pages = blob.stated_pages() or -(-blob.size // BYTES_PER_PAGE)
    return PAGE_TOKENS * min(max(pages, 1), MOST_PAGES)


def schema_text(value: Any) -> str:
    """Return the compact JSON text by which a tool or a response format enters a request.

    Args:
        value: A schema, a tool object with ``name``, ``description`` and ``parameters``, a pydantic
            model class, or anything else, which counts by its ``repr``.
    """
    try:
        return json.dumps(
            _plain(value), ensure_ascii=False, separators=(",", ":"), default=_plain, skipkeys=True
        )
    except (ValueError, TypeError, RuntimeError):  # holds itself, or has no schema
        return repr(value)


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into something that it does."""
    if isinstance(value, (str, int, float, bool, list, tuple, dict)) or value is None:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type) and hasattr(value, "model_json_schema"):
        return value.model_json_schema()
    if hasattr(value, "name") and hasattr(value, "parameters"):
        names = ("name", "description", "parameters")
        return {name: getattr(value, name, None) for name in names}
    return repr(value)


def _input(entry: InputEntry, text: TextMeasure) -> int:
    if isinstance(entry.content, str):
        return text(entry.content)
    return sum([_part(part, text) for part in entry.content])


def _reasoning(entry: ReasoningEntry, text: TextMeasure) -> int:
    opaque = len(entry.signature or "")
    if entry.metadata:
        opaque += len(schema_text(entry.metadata))
    return text(entry.content) + -(-opaque // CHARS_PER_OPAQUE_TOKEN)


def _result(entry: ToolResultEntry, text: TextMeasure) -> int:
    tokens = text(entry.call_id) + text(entry.output)
    return tokens + sum([_part(part, text) for part in entry.parts]) if entry.parts else tokens


_PRICES: Final[dict[type, Callable[[Any, TextMeasure], int]]] = {
    InputEntry: _input,
    AssistantTextEntry: lambda entry, text: text(entry.content),
    ReasoningEntry: _reasoning,
    ToolCallEntry: lambda entry, text: (
        text(entry.call_id) + text(entry.name) + text(entry.arguments)
    ),
    ToolResultEntry: _result,
}


def _part(part: ContentPart, text: TextMeasure) -> int:
    match part:
        case TextPart():
            return text(part.text)
        case ImagePart():
            return image_tokens(part)
        case FilePart():
            return file_tokens(part, text)


@dataclass(frozen=True, slots=True)
class _Content:
    """The first part of a file's text, and how many times it the whole is."""

    text: str
    scale: float


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file part taken apart; ``data`` is base64 text, ``None`` when only an address is known."""

    kind: Literal["text", "image", "other"]
    data: str | None

    @classmethod
    def of(cls, part: FilePart) -> _Blob:
        """Read a part; a ``data:`` address holds the bytes itself."""
        data, mime_type = part.data, part.mime_type
        if data is None and part.url is not None and part.url.startswith("data:"):
            header, _, data = part.url[len("data:") :].partition(",")
            mime_type = mime_type or header.partition(";")[0]
        return cls(_kind(mime_type or "", part.filename or part.url or ""), data)

    @property
    def size(self) -> int:
        """The decoded size in bytes."""
        return len(self.data or "") * 3 // 4

    def as_text(self) -> _Content | None:
        """Decode the first part of the data; ``None`` when it is no base64 text."""
        data = self.data or ""
        head = data[:_READ]
        try:
            decoded = base64.b64decode(head)
        except ValueError:  # wrong padding, or characters beyond ASCII
            return None
        return _Content(decoded.decode("utf-8", "replace"), len(data) / max(len(head), 1))

    def stated_pages(self) -> int:
        """Return the pages that a PDF says it has, as far as that is found; 0 when it is not."""
        data = self.data or ""
        end = len(data) // 4 * 4  # base64 is read in fours
        try:
            ends = [base64.b64decode(data[:_READ]), base64.b64decode(data[max(end - _READ, 0) :])]
        except ValueError:
            return 0
        if not ends[0].startswith(b"%PDF-"):
            return 0
        return max(map(_most_pages_in, ends))


def _most_pages_in(pdf: bytes) -> int:
    """Return the largest number of pages that a page tree in a part of a PDF tells; 0 if none."""
    most = 0
    for tree in islice(_PAGE_TREE.finditer(pdf), _MOST_TREES):
        before = pdf[max(tree.start() - _AROUND_TREE, 0) : tree.start()].rpartition(b"<<")[2]
        after = pdf[tree.end() : tree.end() + _AROUND_TREE].partition(b">")[0]
        counts = (found[1] for part in (before, after) for found in _PAGE_COUNT.finditer(part))
        most = max(most, *map(int, counts), 0)
    return most


def _kind(mime_type: str, name: str) -> Literal["text", "image", "other"]:
    """Tell what a file holds by its type, else by the end of its name."""
    mime_type = mime_type.partition(";")[0].strip().lower()
    suffix = "" if mime_type else name.rpartition(".")[2].lower()
    if mime_type.startswith("image/") or _IMAGE_SUFFIX.fullmatch(suffix):
        return "image"
    textual = mime_type.startswith("text/") or mime_type.endswith(("+json", "+xml", "+yaml"))
    if textual or mime_type in _TEXT_TYPES or _TEXT_SUFFIX.fullmatch(suffix):
        return "text"
    return "other"
