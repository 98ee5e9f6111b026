"""Keeping what a pass takes out of the view: archived once, before the view is committed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lovia.context.view.decisions import Cleared
from lovia.context.view.ranges import Ranges
from lovia.errors import LoviaError

if TYPE_CHECKING:
    from lovia.context.archive import CompactionArchive
    from lovia.context.policy import ArchiveRef, PolicyContext
    from lovia.context.view.decisions import Decisions
    from lovia.context.view.session import SessionView

__all__ = ["save_removed"]

_log = logging.getLogger("lovia.context")


async def save_removed(
    view: SessionView,
    decisions: Decisions,
    *,
    archive: CompactionArchive | None,
    ctx: PolicyContext,
    reason: str | None,
) -> ArchiveRef | None:
    """Archive the entries that new decisions take out of the view and no archive keeps yet.

    A failing archive never blocks a pass: everything stays in the transcript, and the entries are
    offered to the archive again with the next pass.

    Returns:
        Where they are kept; ``None`` without an archive, without new entries, or after a failure.
    """
    cleared = [index for index, how in decisions.replaced.items() if isinstance(how, Cleared)]
    removed = (decisions.hidden | Ranges.from_indices(cleared)) - view.archived
    if archive is None or not removed:
        return None
    entries = [view.transcript[index] for index in removed]
    try:
        ref = await archive.save_transcript(entries, ctx=ctx, reason=reason or "compaction")
    except (OSError, LoviaError) as error:
        _log.warning("Entries that compaction removed could not be archived (%s).", error)
        return None
    view.archived = view.archived | removed
    return ref
