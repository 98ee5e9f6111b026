"""Files are read as JSON or JSON Lines, and anything else is refused by name."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript import InputEntry
from lovia.transcript.formats.document import Document, Reading, load_document
from lovia.transcript.located import Located

if TYPE_CHECKING:
    from pathlib import Path

TEXT = json.dumps([{"a": "é\u2028中"}], ensure_ascii=False)


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        json.dumps([{"a": "é\u2028中"}], indent=2).encode(),
    ],
    ids=["utf-8", "with mark", "utf-16", "big-endian", "indented"],
)
def test_text_in_the_usual_encodings(data: bytes) -> None:
    """UTF-8 with or without a byte order mark and UTF-16 with one are read."""
    (row,) = load_document(data).rows

    assert row.value == {"a": "é\u2028中"}


def test_half_of_a_surrogate_pair_in_the_file_is_kept() -> None:
    """A writer that let halves of pairs through loses nothing."""
    (row,) = load_document('[{"a": "\ud800"}]'.encode("utf-8", "surrogatepass")).rows

    assert row.value == {"a": "\ud800"}


@pytest.mark.parametrize(
    ("text", "rows", "position"),
    [
        ('[{"a": 1}, 2]', [{"a": 1}, 2], "[1]"),
        ('{"a": 1}\n\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}], "line 3"),
        ('{"a": "\u2028"}\n{"b": 2}', [{"a": "\u2028"}, {"b": 2}], "line 2"),
        ('{"a": 1}\n', [{"a": 1}], None),
        ("7", [7], None),
    ],
)
def test_lists_lines_and_single_objects_are_rows(
    text: str, rows: list[object], position: str | None
) -> None:
    """Elements and lines know their place; other line separators are ordinary characters."""
    document = load_document(text.encode())

    assert [row.value for row in document.rows] == rows
    assert document.rows[-1].position == position


def test_members_of_an_object() -> None:
    """A member is found under nested keys; lists and lines have none."""
    document = load_document(b'{"values": {"messages": [1]}}')

    found = document.member("values", "messages")
    assert found is not None
    assert found.value == [1]
    assert document.member("values", "messages", "x") is None
    assert document.member("nothing") is None
    assert load_document(b"[]").member("values") is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b" \n\t", "is empty", id="blanks"),
        pytest.param("\ufeff".encode(), "is empty", id="byte order mark"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "byte 0", id="picture"),
        pytest.param(gzip.compress(b"[]", mtime=0), "byte 1", id="gzip"),
        pytest.param(b"\xff\xfe\x00", "UTF-16", id="UTF-16"),
        pytest.param(b"\x00\x00", "not JSON", id="zeros"),
        pytest.param(b"hello", "not JSON", id="word"),
        pytest.param(b'[{"role": "user", "content": "hel', "cut off", id="cut off"),
        pytest.param(b'{"a": 1}\n{"b": ', "line 2", id="second line cut off"),
        pytest.param(b'{\n"a": 1,\n', "line 3", id="object left open"),
        pytest.param(b"[" * 200_000, "nested too deeply", id="deep"),
        pytest.param(b"[" + b"9" * 10_000 + b"]", "4300 digits", id="long number"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, expected: str) -> None:
    """Each kind of bad data has its own explanation and advice."""
    with pytest.raises(TranscriptFormatError) as caught:
        load_document(data)

    assert expected in str(caught.value)
    assert caught.value.source == "the given bytes"
    assert caught.value.hint


def test_paths_that_cannot_be_read_are_refused_by_name(tmp_path: Path) -> None:
    """A missing file, a folder and an impossible path are named, in text that encodes."""
    for path, expected in (
        (tmp_path / "missing.json", "no such file"),
        (tmp_path, "a folder"),
        (str(tmp_path / ("x" * 5000)), "cannot be read"),
        ("nul\0byte", "cannot be read"),
        (os.fsdecode(b"/bad\xffname"), "no such file"),
        ('[{"role": "user"}]', "no such file"),
    ):
        with pytest.raises(TranscriptFormatError, match=expected) as caught:
            load_document(path)
        str(caught.value).encode()


def test_a_reading_counts_messages() -> None:
    """Each addition is a message unless it continues one; an empty message leaves a trace."""
    reading = Reading()
    one = InputEntry("user", "one")

    reading.add([one], continued=True)
    reading.add([one, one])
    reading.add([one], continued=True)
    reading.add([])

    assert reading.messages == [0, 1, 1, 1, 2]
    assert len(reading.entries) == 5


def test_an_error_about_a_whole_document_names_it() -> None:
    """Without a place, the error still names the source."""
    document = Document("a.json", None, [Located(1, source="a.json")])

    error = document.error("odd", expected="even", hint="Halve it.")

    assert (error.source, error.position, error.expected) == ("a.json", None, "even")
