"""Transcripts for the command line's tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = 12


def _step(number: int) -> list[dict[str, Any]]:
    call = {"name": "read_file", "arguments": json.dumps({"path": f"src/{number}.py"})}
    return [
        {"role": "user", "content": f"question {number}"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * 120},
        {"role": "assistant", "content": f"answer {number}"},
    ]


#: A conversation in OpenAI's chat format: 12 steps of two model calls each.
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are careful."},
    *(message for number in range(ANSWERS) for message in _step(number)),
]


def write_talk(folder: Path, messages: Any = None, *, name: str = "talk.json") -> Path:
    """Write a transcript and return its path."""
    path = folder / name
    path.write_text(json.dumps(TALK if messages is None else messages))
    return path
