"""Tests of what users add to requests."""

from __future__ import annotations

from typing import Any

from lovia import ModelSettings
from lovia.providers.options import request_arguments


def arguments(body: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return a request's arguments with options for the names `vendor` and `own`."""
    settings = ModelSettings(provider_options=options)
    return request_arguments(
        body,
        settings,
        extra_body={"a": 0},
        names=("vendor", "own"),
        typed=("model",),
        bulk="messages",
    )


def test_options_are_laid_over_the_body() -> None:
    """Objects are joined, other values replaced, `None` takes a field out; the last name wins."""
    made = arguments(
        {"model": "m", "messages": [1], "nested": {"x": 1, "y": 2}, "gone": 1, "a": 9},
        vendor={"nested": {"y": 3}, "gone": None, "b": 1},
        own={"b": 2},
        other={"c": 1},
    )
    assert (made["model"], made["messages"]) == ("m", [])
    assert made["extra_body"] == {"messages": [1], "nested": {"x": 1, "y": 3}, "a": 0, "b": 2}


def test_what_is_no_body_travels_beside_it() -> None:
    """Headers, query and timeout are arguments of their own; `extra_body` is part of the body."""
    made = arguments(
        {"model": "m"}, vendor={"extra_headers": {"x-a": "1"}, "extra_body": {"k": 1}, "timeout": 3}
    )
    assert made["extra_headers"] == {"x-a": "1"}
    assert made["timeout"] == 3
    assert made["extra_body"] == {"a": 0, "k": 1}


def test_the_body_itself_is_left_alone() -> None:
    """Options of one request do not reach the next."""
    body = {"model": "m", "nested": {"x": 1}}
    arguments(body, vendor={"nested": {"x": 2}})
    assert body == {"model": "m", "nested": {"x": 1}}
