"""Whether a view is one that a provider accepts and that keeps what it has to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.errors import InvalidViewError
from lovia.transcript.entries import ToolResultEntry, TranscriptEntry, is_system
from lovia.transcript.fidelity import check_fidelity
from lovia.transcript.pairing import Pairing
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["validate_view"]


def validate_view(
    entries: Sequence[TranscriptEntry],
    *,
    transcript: Sequence[TranscriptEntry] | None = None,
    pending: Collection[str] = (),
) -> None:
    """Check that a provider would accept a view and that it keeps what a view has to keep.

    Args:
        entries: The view.
        transcript: What it is a view of; with it, the leading block, the order, the newest user
            message and the thoughts behind calls are checked too.
        pending: Ids of calls that are still waiting for their result wherever they stand.

    Raises:
        InvalidViewError: It names the entry and the rule: ``empty``, ``orphan_result``,
            ``unanswered_call``, ``summary_last``, ``leading_block``, ``order``, ``newest_user`` or
            ``reasoning``.
    """
    _check_not_empty(entries)
    _check_pairs(entries, pending)
    if transcript is not None:
        check_fidelity(entries, transcript)


def _check_not_empty(entries: Sequence[TranscriptEntry]) -> None:
    if all(is_system(entry) for entry in entries):
        message = "The view holds no message besides system messages."
        raise InvalidViewError(message, rule="empty", hint="Keep at least the newest user message.")
    if getattr(entries[-1], "origin", "") == "summary":
        message = "The view ends with a summary, which a model would take for the newest message."
        hint = "Keep the newest message after the summary."
        raise InvalidViewError(message, rule="summary_last", index=len(entries) - 1, hint=hint)


def _check_pairs(entries: Sequence[TranscriptEntry], pending: Collection[str]) -> None:
    pairing = Pairing(entries)
    for index, entry in enumerate(entries):
        if type(entry) is ToolResultEntry and pairing.partner[index] < 0:
            message = f"Entry {index} is a result for {entry.call_id[:80]!r}, which no call made."
            hint = "Remove a call and its result together."
            raise InvalidViewError(message, rule="orphan_result", index=index, hint=hint)
    # A view shows ids that do not encode in their clean form.
    dead = pairing.dead_calls({*pending, *map(clean_text, pending)})
    if dead:
        index = min(dead)
        entry = entries[index]
        name = getattr(entry, "name", "")
        message = f"Entry {index}, a call of {name!r}, has no result and other messages follow."
        hint = "Give it a placeholder result, or remove the whole unit."
        raise InvalidViewError(message, rule="unanswered_call", index=index, hint=hint)
