"""Tests of the arguments of calls, as wires want them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.providers.wire.arguments import arguments_object, arguments_text

DEEP = '{"a":' * 300 + "1" + "}" * 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("", {}),
        ("  ", {}),
        ("not json", {"arguments": "not json"}),
        ("[1, 2]", {"arguments": "[1, 2]"}),
        ('"text"', {"arguments": '"text"'}),
        ('{"a": NaN, "b": -Infinity}', {"a": "NaN", "b": "-Infinity"}),
        ('{"a": 1e999}', {"a": "1e999"}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        (DEEP, {"arguments": DEEP}),
        ("[" * 5_000, {"arguments": "[" * 5_000}),
    ],
)
def test_arguments_are_an_object(text: str, expected: object) -> None:
    """A JSON object is itself, blank text an empty one, and anything else is wrapped."""
    assert arguments_object(text) == expected


@given(st.text(max_size=40) | st.recursive(st.none(), st.lists).map(json.dumps))
def test_any_arguments_can_be_sent(text: str) -> None:
    """Whatever a model wrote, the object can be written as strict JSON."""
    json.dumps(arguments_object(text), allow_nan=False)
    assert isinstance(json.loads(arguments_text(text)), dict)


def test_an_object_is_sent_as_it_was_written() -> None:
    """Arguments that are an object keep their bytes, so that a prompt cache serves them."""
    assert arguments_text('{"b":1,  "a":2}') == '{"b":1,  "a":2}'
