"""A JSON value names its place and what was expected there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.transcript.located import Located, parse_json, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT: dict[str, Any] = {
    "messages": [{"content": "hi", "id": 7, "ok": True, "long": "x" * 1000, "half": "\ud800"}]
}


def message(label: str = "") -> Located:
    """Return the one message of the document."""
    return Located(DOCUMENT, source="a.json", label=label).at("messages").items()[0]


@pytest.mark.parametrize(
    ("ask", "position", "expected", "found"),
    [
        (lambda m: m.at("id").text(), "messages[0].id", "text", "a number"),
        (lambda m: m.at("ok").text(), "messages[0].ok", "text", "true or false"),
        (lambda m: m.at("none").text(), "messages[0].none", "text", "nothing"),
        (lambda m: m.at("content").items(), "messages[0].content", "a list", "the text 'hi'"),
        (lambda m: m.at("long").at("x"), "messages[0].long", "an object", "a long text"),
        (lambda m: m.at("half").items(), "messages[0].half", "a list", r"the text '\ud800'"),
        (lambda m: m.at("id").flag(), "messages[0].id", "true or false", "a number"),
        (lambda m: m.at("ok").identifier(), "messages[0].ok", "an id", "true or false"),
        (lambda m: m.at("content").choice(("a", "b")), "messages[0].content", "one of a, b", "hi"),
        (lambda m: m.first("x", "id").text(), "messages[0].id", "text", "a number"),
        (lambda m: m.first("x", "y").text(), "messages[0].x", "text", "nothing"),
        (lambda m: m.object("a list").keys() and m.text(), "messages[0]", "text", "an object"),
    ],
)
def test_a_wrong_value_is_named(
    ask: Callable[[Located], Any], position: str, expected: str, found: str
) -> None:
    """The error says where, what was expected, and what was found, in text that encodes."""
    with pytest.raises(TranscriptFormatError) as caught:
        ask(message())

    error = caught.value
    assert error.source == "a.json"
    assert error.position == position
    assert error.expected is not None
    assert error.expected.startswith(expected)
    assert error.message.startswith(f"a.json: {position}: expected {error.expected}")
    assert found in error.message
    assert len(str(error).encode()) < 300


def test_a_label_comes_before_the_path() -> None:
    """Within JSON Lines, the line comes first."""
    assert message("line 3").at("id").position == "line 3, messages[0].id"
    assert Located([], source="a.json").position is None


def test_accessors_return_plain_values() -> None:
    """Absent values take the default; numbers pass for ids."""
    node = message()

    assert node.at("id").identifier() == "7"
    assert node.at("none").identifier() == ""
    assert node.at("none").text("default") == "default"
    assert node.at("none").optional_text() is None
    assert node.at("none").flag() is False
    assert node.at("none").choice(("a",), "a") == "a"
    assert node.at("ok").flag() is True
    assert node.first("none", "content").text() == "hi"


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ('{"a": [1, 2', "line 1, column 12", "cut off"),
        ('{"a": "endless', "line 1, column 7", "cut off"),
        ('{\n "a" 1}', "line 2, column 6", "Correct the JSON"),
        ("", "line 1, column 1", "cut off"),
    ],
)
def test_a_syntax_error_names_line_and_column(text: str, position: str, hint: str) -> None:
    """Damaged JSON names its place, and tells a cut-off text from a mistyped one."""
    with pytest.raises(TranscriptFormatError) as caught:
        parse_json(text, source="a.json")

    assert caught.value.position == position
    assert hint in str(caught.value)


def test_lines_count_from_one_with_blank_lines() -> None:
    """Blank lines are passed over and counted."""
    nodes = list(parse_lines(["", "1\n", "  \n", "2"], source="a.jsonl"))

    assert [(node.value, node.position) for node in nodes] == [(1, "line 2"), (2, "line 4")]
