"""The parts of a message as OpenAI's two protocols write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.providers.wire.media import Media, media_of, not_shown, text_of_file
from lovia.transcript.entries import ContentPart, FilePart, ImagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["chat_content", "responses_content"]


def chat_content(parts: Sequence[ContentPart]) -> str | list[dict[str, Any]]:
    """Return the content of a Chat Completions message: text where it can be, else a list."""
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts):
        return "\n\n".join(texts)
    return [_chat_part(part) for part in parts]


def responses_content(parts: Sequence[ContentPart]) -> list[dict[str, Any]]:
    """Return the content of a Responses message or of a call's output."""
    return [_responses_part(part) for part in parts]


def _chat_part(part: ContentPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return _text(part.text)
        case ImagePart():
            media = media_of(part)
            if media.file_id:  # this protocol knows files by id, but no images
                return _text(not_shown(part))
            detail = {"detail": part.detail} if part.detail else {}
            return {"type": "image_url", "image_url": {"url": media.data_url, **detail}}
        case FilePart():
            return _chat_file(part, media_of(part))


def _chat_file(part: FilePart, media: Media) -> dict[str, Any]:
    written = text_of_file(part)
    if written is not None:
        return _text(_named(part, written))
    if media.file_id:
        return {"type": "file", "file": {"file_id": media.file_id}}
    if media.data is None:  # this protocol knows no files by address
        return _text(not_shown(part))
    return {"type": "file", "file": _file(part, media)}


def _responses_part(part: ContentPart) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "input_text", "text": part.text}
        case ImagePart():
            media = media_of(part)
            where = {"file_id": media.file_id} if media.file_id else {"image_url": media.data_url}
            return {"type": "input_image", "detail": part.detail or "auto", **where}
        case FilePart():
            return _responses_file(part, media_of(part))


def _responses_file(part: FilePart, media: Media) -> dict[str, Any]:
    written = text_of_file(part)
    if written is not None:
        return {"type": "input_text", "text": _named(part, written)}
    if media.file_id:
        return {"type": "input_file", "file_id": media.file_id}
    if media.data is None:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", **_file(part, media)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _named(part: FilePart, text: str) -> str:
    return f"[File {part.filename or part.mime_type or 'without a name'}]\n\n{text}"


def _file(part: FilePart, media: Media) -> dict[str, Any]:
    return {"filename": part.filename or "file", "file_data": media.data_url}
