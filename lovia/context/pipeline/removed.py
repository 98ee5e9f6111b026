"""Keeping what a pass takes out of the view: archived once, before the view is committed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lovia.context.archive.trying import try_to_keep
from lovia.context.view.decisions import Cleared
from lovia.context.view.ranges import Ranges

if TYPE_CHECKING:
    from lovia.context.archive import CompactionArchive
    from lovia.context.policy import ArchiveRef, PolicyContext
    from lovia.context.view.decisions import Decisions
    from lovia.context.view.session import SessionView

__all__ = ["save_removed"]


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
    save = partial(archive.save_transcript, entries, ctx=ctx, reason=reason or "compaction")
    ref = await try_to_keep("What compaction removed", save)
    if ref is not None:
        view.archived = view.archived | removed
    return ref
