"""Images and files: where their bytes are, what they are, and what to say when they cannot go."""

from __future__ import annotations

import binascii
import mimetypes
import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Final

from lovia.transcript.entries import FilePart, ImagePart
from lovia.transcript.text import clean_text

__all__ = ["Media", "media_of", "not_shown", "text_of_file"]

_DATA_URL: Final = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)
#: How recordings write the id of a file that the vendor keeps.
_FILE_ID: Final = "file-id:"
# The first characters of the base64 text of each image format that vendors take.
_MAGIC: Final = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
_TEXT_TYPES: Final = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml"}
)


@dataclass(frozen=True, slots=True)
class Media:
    """An image or a file, found.

    Attributes:
        mime_type: What it is, as far as anybody says.
        data: Base64 text of its bytes, or ``None``.
        url: Its address, when there are no bytes.
        file_id: The vendor's own id for it, when it has neither.
    """

    mime_type: str
    data: str | None = None
    url: str | None = None
    file_id: str | None = None

    @property
    def data_url(self) -> str:
        """The bytes as an address, or the address."""
        return f"data:{self.mime_type};base64,{self.data}" if self.data else self.url or ""


def media_of(part: ImagePart | FilePart) -> Media:
    """Find the bytes or the address of a part, and its type."""
    embedded = _DATA_URL.match(part.data or part.url or "")
    if embedded:
        data: str | None = (part.data or part.url or "")[embedded.end() :]
        return Media(_type(part, embedded["mime"], data or ""), data=data)
    if part.data:
        return Media(_type(part, None, part.data), data=part.data)
    url = part.url or ""
    if url.startswith(_FILE_ID):
        return Media(_type(part, None, ""), file_id=url.removeprefix(_FILE_ID))
    return Media(_type(part, None, ""), url=url)


def text_of_file(part: FilePart) -> str | None:
    """Return what an embedded text file says; ``None`` for other files."""
    media = media_of(part)
    is_text = media.mime_type.startswith("text/") or media.mime_type in _TEXT_TYPES
    if not is_text or media.data is None:
        return None
    try:
        return clean_text(b64decode(media.data, validate=True).decode("utf-8", "replace"))
    except (binascii.Error, ValueError):
        return None


def not_shown(part: ImagePart | FilePart) -> str:
    """Return what stands for a part that the vendor does not take."""
    kind = "image" if isinstance(part, ImagePart) else "file"
    media = media_of(part)
    details = [getattr(part, "filename", None), media.mime_type, media.url]
    shown = ", ".join(detail for detail in details if detail)
    return f"[{kind} that cannot be shown here: {shown}]"


def _type(part: ImagePart | FilePart, stated: str | None, data: str) -> str:
    mime_type = part.mime_type or stated
    if mime_type:
        return mime_type.lower()
    if isinstance(part, ImagePart):
        return next((mime for magic, mime in _MAGIC.items() if data.startswith(magic)), "image/png")
    guessed, _ = mimetypes.guess_type(part.filename or part.url or "")
    return guessed or "application/octet-stream"
