"""Keeping what compaction takes out of the view."""

from __future__ import annotations

from lovia.context.archive.file_archive import FileCompactionArchive
from lovia.context.archive.memory_archive import MemoryArchive
from lovia.context.archive.protocol import CompactionArchive

__all__ = ["CompactionArchive", "FileCompactionArchive", "MemoryArchive"]
