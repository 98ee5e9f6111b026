"""The parts of a message as Anthropic's protocol writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.providers.wire.media import Media, media_of, not_shown, text_of_file
from lovia.transcript.entries import ContentPart, FilePart, ImagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["content_blocks", "text_block"]

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def content_blocks(parts: Iterable[ContentPart]) -> list[dict[str, Any]]:
    """Return the blocks for parts; what the vendor does not take is named in a text."""
    return [_block(part) for part in parts]


def text_block(text: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": text}


def _block(part: ContentPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return text_block(part.text)
        case ImagePart():
            media = media_of(part)
            source = _source(media, _IMAGES)
            return {"type": "image", "source": source} if source else text_block(not_shown(part))
        case FilePart():
            return _document(part)


def _document(part: FilePart) -> dict[str, Any]:
    written = text_of_file(part)
    if written is not None:
        source: dict[str, Any] | None = {
            "type": "text",
            "media_type": "text/plain",
            "data": written or "(empty file)",
        }
    else:
        source = _source(media_of(part), {_PDF})
    if source is None:
        return text_block(not_shown(part))
    title = {"title": part.filename} if part.filename else {}
    return {"type": "document", "source": source, **title}


def _source(media: Media, types: Iterable[str]) -> dict[str, Any] | None:
    if media.file_id:
        return {"type": "file", "file_id": media.file_id}
    if media.data is None:
        return {"type": "url", "url": media.url} if media.url else None
    if media.mime_type not in types:
        return None
    return {"type": "base64", "media_type": media.mime_type, "data": media.data}
