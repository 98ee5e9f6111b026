"""Tests of finding images and files."""

from __future__ import annotations

from base64 import b64encode

import pytest

from lovia.providers.wire.media import Media, media_of, not_shown, text_of_file
from lovia.transcript import FilePart, ImagePart


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (ImagePart(data="aGk=", mime_type="image/PNG"), Media("image/png", data="aGk=")),
        (ImagePart(data="/9j/4AAQ"), Media("image/jpeg", data="/9j/4AAQ")),
        (ImagePart(data="UklGRiQA"), Media("image/webp", data="UklGRiQA")),
        (ImagePart(data="????"), Media("image/png", data="????")),
        (ImagePart(url="data:image/gif;base64,R0lG"), Media("image/gif", data="R0lG")),
        (ImagePart(url="https://x.test/a.png"), Media("image/png", url="https://x.test/a.png")),
        (ImagePart(url="file-id:f1"), Media("image/png", file_id="f1")),
        (FilePart(data="JVBE", filename="a.pdf"), Media("application/pdf", data="JVBE")),
        (FilePart(data="AAAA"), Media("application/octet-stream", data="AAAA")),
        (
            FilePart(url="https://x.test/a"),
            Media("application/octet-stream", url="https://x.test/a"),
        ),
    ],
)
def test_bytes_addresses_and_types_are_found(part: ImagePart | FilePart, expected: Media) -> None:
    """The type is what somebody says, else what the first bytes or the name say."""
    assert media_of(part) == expected


def test_a_text_file_is_its_text() -> None:
    """An embedded text file can be told as text; bytes that are no UTF-8 are replaced."""
    data = b64encode("tide: äüß".encode() + b"\xff").decode()
    assert text_of_file(FilePart(data=data, mime_type="text/plain")) == "tide: äüß\ufffd"
    assert text_of_file(FilePart(data=data, mime_type="application/pdf")) is None
    assert text_of_file(FilePart(data="no base64!", mime_type="text/plain")) is None
    assert text_of_file(FilePart(url="https://x.test/a.txt", mime_type="text/plain")) is None


def test_what_cannot_be_shown_is_named() -> None:
    """A part that a vendor does not take is named by its kind, name, type and address."""
    part = FilePart(url="https://x.test/a.bin", mime_type="application/x-bin", filename="a.bin")
    assert not_shown(part) == (
        "[file that cannot be shown here: a.bin, application/x-bin, https://x.test/a.bin]"
    )
