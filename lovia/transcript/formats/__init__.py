"""Recorded transcripts in the formats of vendors, frameworks, agents and benchmarks."""

from __future__ import annotations

from lovia.transcript.formats.detect import format_names
from lovia.transcript.formats.document import Note
from lovia.transcript.formats.loading import Recording, load_transcript, read_recording

__all__ = ["Note", "Recording", "format_names", "load_transcript", "read_recording"]
