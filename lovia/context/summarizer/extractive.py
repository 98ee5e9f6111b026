"""The summarizer that asks no model: it copies out what a reader would mark.

It is deterministic and its output is bounded. What it writes it can read again: folding its own
summary with more entries keeps the first goal word for word, and drops the oldest of everything
else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.extract import Extract, extract, merge
from lovia.context.summarizer.protocol import Summary
from lovia.context.summarizer.reader import counter_of, run_window
from lovia.context.summarizer.sections import parse, render
from lovia.context.summarizer.splitting import clip_middle
from lovia.context.summarizer.threads import is_large, off_loop
from lovia.transcript.entries import text_of
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ExtractiveSummarizer"]

#: Characters of a summary per token of the window: about an eighth of the window.
_CHARS_PER_WINDOW_TOKEN: Final = 0.4
#: New text is at least halved, whatever the bound.
_NEW_SHARE: Final = 0.5
_MIN_CHARS: Final = 160


class ExtractiveSummarizer:
    """Keeps the user's requests word for word, decisions, the last state, errors, files and tools.

    Args:
        max_chars: Upper bound of a summary in characters; in a small window it is less.
    """

    def __init__(self, *, max_chars: int = 6_000) -> None:
        self.max_chars = max_chars

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> Summary:
        """Return the marked passages of the prior summary and of the entries.

        ``focus`` plays no part: nothing here understands it.
        """
        work = partial(_summarize, entries, prior_summary, self._limit(ctx))
        text = await off_loop(work, large=is_large(entries))
        return Summary(text, attempts=0)

    def room(
        self, ctx: PolicyContext, *, prior_summary: str | None, focus: str | None
    ) -> int | None:
        """Return ``None``: it reads any amount at once."""
        return None

    def measure(self, entry: TranscriptEntry, ctx: PolicyContext) -> int:
        """Return the tokens of the entry, all of which is read."""
        return counter_of(ctx).entry(entry)

    def clip(self, entry: TranscriptEntry) -> TranscriptEntry:
        """Return the entry itself."""
        return entry

    def _limit(self, ctx: PolicyContext) -> int:
        window = run_window(ctx)
        if window is None:
            return self.max_chars
        return min(self.max_chars, int(window * _CHARS_PER_WINDOW_TOKEN))


def _summarize(entries: Sequence[TranscriptEntry], prior: str | None, limit: int) -> str:
    new_chars = sum(len(text_of(entry)) for entry in entries)
    limit = min(limit, max(len(prior or "") + int(new_chars * _NEW_SHARE), _MIN_CHARS))
    new = extract(entries)
    if prior:
        old = parse(prior) or Extract(earlier=clip_middle(clean_text(prior), limit))
        new = merge(old, new)
    return render(new, limit)
