"""Where conversations are kept."""

from __future__ import annotations

from lovia.stores.memory import InMemorySession
from lovia.stores.session import Segment, Session

__all__ = ["InMemorySession", "Segment", "Session"]
