"""Loads a document that a test writes down as a Python value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lovia.transcript.formats import Recording, read_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript import TranscriptEntry


def recorded(value: Any, format: str | None = None) -> Recording:
    """Read a value as the JSON of a file."""
    return read_recording(json.dumps(value).encode(), format)


def recorded_lines(rows: Sequence[Any], format: str | None = None) -> Recording:
    """Read values as the lines of a file."""
    return read_recording("".join(json.dumps(row) + "\n" for row in rows).encode(), format)


def loaded(value: Any, format: str | None = None) -> list[TranscriptEntry]:
    """Read the entries of a value as the JSON of a file."""
    return recorded(value, format).entries
