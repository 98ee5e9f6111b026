"""What keeps code of earlier releases working."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from lovia.context.compacting import CompactingContextPolicy
from lovia.context.policy import ContextPolicyResult, PolicyContext
from lovia.context.summary_entry import SUMMARY_FRAME, SUMMARY_LABELS
from lovia.transcript.entries import InputEntry, TranscriptEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "NoopContextPolicy",
    "SummarizingContextPolicy",
    "as_result",
    "extract_compaction_summary",
]

_warned: set[type] = set()


class NoopContextPolicy:
    """Sends the transcript as it is."""

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript unchanged."""
        return ContextPolicyResult(entries, changed=False)


class SummarizingContextPolicy(CompactingContextPolicy):
    """The former name of :class:`CompactingContextPolicy`, to which it delegates everything."""


def extract_compaction_summary(entries: Sequence[TranscriptEntry]) -> str | None:
    """Find the summary text in a list that an old list-returning policy produced.

    A legacy helper: a summary comes with :class:`ContextPolicyResult`, never out of text.

    Returns:
        The text behind the label of the last summary entry, or ``None``.
    """
    for entry in reversed(entries):
        if isinstance(entry, InputEntry) and isinstance(entry.content, str):
            for label in SUMMARY_LABELS:
                if entry.content.startswith(label):
                    text = entry.content.removeprefix(label).rstrip()
                    return text.removesuffix(SUMMARY_FRAME).strip() or None
    return None


def as_result(
    returned: ContextPolicyResult | list[TranscriptEntry],
    entries: list[TranscriptEntry],
    policy: object,
) -> ContextPolicyResult:
    """Accept what a policy returned: a result, or the bare list of older user code.

    A bare list draws one ``DeprecationWarning`` per policy class.
    """
    if isinstance(returned, ContextPolicyResult):
        return returned
    kind = type(policy)
    if kind not in _warned:
        _warned.add(kind)
        message = f"{kind.__qualname__} returns a list; return a ContextPolicyResult instead."
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    view = list(returned)
    changed = view != entries
    summary = extract_compaction_summary(view) if changed else None
    return ContextPolicyResult(
        view, changed, summary=summary, view="compacted" if changed else "original"
    )
