"""Reading recorded sessions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lovia.errors import TranscriptFormatError
from lovia.replay import load_session

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "looking",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "assistant", "content": "done"},
]


def write(folder: Path, counts: Any = None, *, raw: bytes | None = None) -> Path:
    """Write a transcript and what lies beside it, and return the transcript's path."""
    path = folder / "talk.json"
    path.write_text(json.dumps(MESSAGES))
    if counts is not None:
        path.with_suffix(".usage.json").write_text(json.dumps(counts))
    if raw is not None:
        path.with_suffix(".usage.json").write_bytes(raw)
    return path


def test_counts_are_found_by_the_entries_before_a_call(tmp_path: Path) -> None:
    """A count belongs to the answer of its message, however many entries messages become."""
    counted = [{"message": 1, "prompt_tokens": 100}, {"message": 3, "prompt_tokens": 50}]
    session = load_session(write(tmp_path, counted))
    assert session.name == "talk"
    assert len(session.entries) == 5
    first, last = session.count_at(1), session.count_at(4)
    assert first is not None
    assert last is not None
    assert (first.tokens, first.compacted, last.tokens, last.compacted) == (100, False, 50, True)
    assert session.count_at(2) is None


def test_a_transcript_needs_no_counts(tmp_path: Path) -> None:
    """Without a file of counts there are none."""
    assert load_session(write(tmp_path)).counts is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(b"\xff\x00", "JSON list", id="binary"),
        pytest.param(b'{"a": 1}', "JSON list", id="an object"),
        pytest.param(b"[" * 100_000, "JSON list", id="nested without end"),
        pytest.param(b'[{"message": 9, "prompt_tokens": 1}]', "item 0", id="no such message"),
        pytest.param(b'[{"message": 1}]', "item 0", id="no count"),
        pytest.param(b'[{"message": 1, "prompt_tokens": -5}]', "item 0", id="a negative count"),
        pytest.param(b'[{"message": true, "prompt_tokens": 5}]', "item 0", id="no number"),
        pytest.param(b"[7]", "item 0", id="no object"),
    ],
)
def test_malformed_counts_are_named(tmp_path: Path, raw: bytes, expected: str) -> None:
    """A file of counts that is none ends in an error that names it and the place in it."""
    with pytest.raises(TranscriptFormatError, match=expected) as caught:
        load_session(write(tmp_path, raw=raw))
    assert str(caught.value.source).endswith("talk.usage.json")
    assert caught.value.hint
