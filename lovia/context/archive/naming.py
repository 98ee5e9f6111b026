"""File names for ids that anybody may have written.

Ids come from models and users: paths, megabytes, control characters, nothing at all. An id that is
a harmless file name on every system names its file as it is; any other one is made harmless and
gets a digest of the whole id, so that no two ids ever share a name.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Final

__all__ = [
    "LONE_RUN",
    "NO_SESSION",
    "digest_of",
    "is_safe_path_part",
    "run_name",
    "safe_name",
    "session_name",
    "stamp",
]

NO_SESSION: Final = "no-session"
NO_RUN: Final = "no-run"

#: Stands before a digest; no plain id contains it, so an id cannot imitate a made name.
_MARK: Final = "~"
#: Begins the folder name of a run without a conversation; no conversation's name begins like it.
LONE_RUN: Final = f"{NO_SESSION}{_MARK}run-"

_MOST_CHARS: Final = 100
_KEPT_CHARS: Final = 60  # of an id that gets a digest
_DIGEST_CHARS: Final = 20  # 80 bits

_PLAIN: Final = re.compile(rf"[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,{_MOST_CHARS - 1}}}(?<!\.)")
_PATH_PART: Final = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,250}")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
#: Devices on Windows, whatever follows the first dot; and the names that stand for missing ids.
_RESERVED: Final = re.compile(
    rf"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|{NO_SESSION}|{NO_RUN}", re.IGNORECASE
)


def safe_name(text: str, *, plain: bool = True) -> str:
    """Return a file name, without ending, that stands for this id and for no other.

    Args:
        text: The id.
        plain: Whether the id itself may be the name; ``False`` where something else has it.
    """
    if plain and _PLAIN.fullmatch(text) and not _RESERVED.fullmatch(text):
        return text
    kept = _UNSAFE.sub("_", text[:_KEPT_CHARS]).strip("_") or "id"
    return f"{kept}{_MARK}{digest_of(text, kind='id')}"


def session_name(session_id: str | None, run_id: str | None, *, plain: bool = True) -> str:
    """Return the folder name of a conversation; a run without one has a folder to itself."""
    if session_id is not None:
        return safe_name(session_id, plain=plain)
    if run_id is None:
        return NO_SESSION
    return LONE_RUN + safe_name(run_id, plain=plain)


def run_name(run_id: str | None) -> str:
    """Return the first part of the name of a run's files."""
    return NO_RUN if run_id is None else safe_name(run_id)


def digest_of(content: str | bytes, *, kind: str) -> str:
    """Return a short digest; what is digested for one kind never looks like another."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.sha256(kind.encode() + b"\0" + data).hexdigest()[:_DIGEST_CHARS]


def stamp(moment: datetime) -> str:
    """Return a moment as a part of a file name that sorts by time, in UTC, to the microsecond."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")


def is_safe_path_part(part: str) -> bool:
    """Tell whether a part of a path can be one that was made here."""
    return _PATH_PART.fullmatch(part) is not None
