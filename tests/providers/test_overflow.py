"""Tests of telling a refusal for size from every other error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lovia.providers.overflow import Overflow, overflow_of

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDINGS = (Path(__file__).parent / "wordings.txt").read_text(encoding="utf-8")


def _read() -> Iterator[tuple[str, str]]:
    """Yield each line of the file: what stands before the bar, and the message."""
    for line in WORDINGS.splitlines():
        if line and not line.startswith("#"):
            told, _, message = line.partition(" | ")
            yield told, message


OVERFLOWS = [
    (message, None if told == "-" else int(told))
    for told, message in _read()
    if not told.startswith("status")
]
OTHERS = [
    (message, int(told.removeprefix("status ")))
    for told, message in _read()
    if told.startswith("status")
]


@pytest.mark.parametrize(("message", "window"), OVERFLOWS, ids=range(len(OVERFLOWS)))
def test_an_overflow_is_recognised_with_its_window(message: str, window: int | None) -> None:
    """Each vendor's wording is an overflow, and the window that it names is read."""
    assert overflow_of(message, status=400) == Overflow(window)
    assert overflow_of(message) == Overflow(window), "inside a stream there is no status"


@pytest.mark.parametrize(("message", "status"), OTHERS, ids=range(len(OTHERS)))
def test_other_errors_are_none(message: str, status: int) -> None:
    """Limits per minute, on answers, on ids and on images are no overflow, nor are outages."""
    assert overflow_of(message, status=status) is None
    if status in {400, 413, 500}:
        assert overflow_of(message) is None


@pytest.mark.parametrize(
    ("body", "window"),
    [
        ({"error": {"code": "context_length_exceeded", "message": "no"}}, None),
        ({"error": {"type": "request_too_large", "message": "Request exceeds the size"}}, None),
        (
            {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 1, "n_ctx": 256}},
            256,
        ),
        ({"code": 500, "type": "exceed_context_size_error", "n_ctx": 8192}, 8_192),
        (
            {
                "error": {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {
                        "raw": json.dumps(
                            {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}
                        )
                    },
                }
            },
            8,
        ),
        ({"message": "Input is too long for this model.", "max_model_len": 4_096}, 4_096),
        ({"error": {"message": json.dumps({"code": "context_length_exceeded"})}}, None),
        ([{"error": {"code": 400, "message": "exceeds the context window of this model"}}], None),
    ],
)
def test_what_a_gateway_hides_is_found(body: Any, window: int | None) -> None:
    """Codes, fields and the upstream vendor's own words inside an error's JSON are looked at."""
    assert overflow_of("Provider returned error", status=400, body=body) == Overflow(window)


def test_a_body_too_large_for_the_server_is_an_overflow() -> None:
    """A request that is too many bytes has to become smaller as well."""
    assert overflow_of("Request Entity Too Large", status=413) == Overflow()


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429])
def test_some_statuses_never_mean_an_overflow(status: int) -> None:
    """Whatever is said, a refusal of the key, the money, the model or the rate is no overflow."""
    assert overflow_of(OVERFLOWS[0][0], status=status) is None


def test_hostile_bodies_are_survived() -> None:
    """Deep and huge errors are looked at as far as is sensible."""
    deep: Any = "x"
    for _ in range(200):
        deep = {"error": deep}
    assert overflow_of("?", status=400, body=deep) is None
    assert overflow_of("?" * 1_000_000, status=400, body={"a": "{" * 10_000}) is None
