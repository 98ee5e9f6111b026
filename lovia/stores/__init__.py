"""Where runs and conversations are kept."""

from __future__ import annotations

from lovia.stores.checkpoint import (
    CallLog,
    Checkpointer,
    RunHead,
    RunOutcome,
    RunSnapshot,
    RunStatus,
)
from lovia.stores.marks import LogMark, RunProgress, SessionMark
from lovia.stores.memory import InMemoryCheckpointer, InMemorySession
from lovia.stores.session import PolicyMemory, Segment, Session, SharedSession
from lovia.stores.sqlite_checkpoints import SQLiteCheckpointer
from lovia.stores.sqlite_sessions import SQLiteSession

__all__ = [
    "CallLog",
    "Checkpointer",
    "InMemoryCheckpointer",
    "InMemorySession",
    "LogMark",
    "PolicyMemory",
    "RunHead",
    "RunOutcome",
    "RunProgress",
    "RunSnapshot",
    "RunStatus",
    "SQLiteCheckpointer",
    "SQLiteSession",
    "Segment",
    "Session",
    "SessionMark",
    "SharedSession",
]
