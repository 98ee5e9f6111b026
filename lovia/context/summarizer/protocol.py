"""What a summarizer is: it turns a span of entries, and the summary so far, into a new summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lovia.errors import ContextOverflowError
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["RequestTooLarge", "SizedSummarizer", "Summarizer", "Summary"]


class RequestTooLarge(ContextOverflowError):
    """A summary request would not fit its window; it was not sent.

    Attributes:
        excess: Tokens by which it is too large.
    """

    def __init__(self, excess: int, window: int) -> None:
        super().__init__(
            f"A summary request is {excess} tokens too large for a window of {window}.",
            hint="Summarise fewer entries at once, as the fold driver does.",
        )
        self.excess = excess


@dataclass(frozen=True)
class Summary:
    """A summary, and what it took to get it.

    Attributes:
        text: The summary.
        usage: What its model calls spent, failed attempts included.
        attempts: Model calls made for it; 0 for a summarizer that asks no model.
        degraded: Whether something had to be split, so that it was read in pieces.
        identifiers_kept: Identifiers of the summarised span that the text still holds.
        identifiers_total: Identifiers found in the summarised span.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    attempts: int = 1
    degraded: bool = False
    identifiers_kept: int = 0
    identifiers_total: int = 0


@runtime_checkable
class Summarizer(Protocol):
    """Writes the summary that stands for a span of the transcript.

    A summarizer reports what its model calls spend, either to ``ctx.usage`` while they happen (then
    failed and cancelled attempts are seen as well) or in the :class:`Summary` that it returns.

    It may raise :class:`~lovia.errors.SummaryRejected` for a reply that is no summary, and
    :class:`~lovia.errors.ContextOverflowError` for a request that is too large: the span is then
    cut smaller and tried again. After an error that may pass (a rate limit, a lost connection) it
    is asked again, with back-off, three times in all, unless it has an attribute ``retry`` that is
    not ``None``: then it does so itself. See :class:`SizedSummarizer` for what else it may offer.
    """

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> Summary | str:
        """Return a summary of ``prior_summary`` followed by ``entries``.

        Args:
            entries: The newly summarised span, oldest first, as recorded.
            ctx: The run.
            prior_summary: The summary of everything before ``entries``; the result replaces it.
            focus: What the summary should dwell on.
        """
        ...


class SizedSummarizer(Summarizer, Protocol):
    """A summarizer that knows how much it can read at once.

    Each of these methods is optional on its own. Without ``room``, a summarizer is given half of
    the run's context window, prior summary included. ``measure`` and ``clip`` are called in a
    worker thread when there is much to measure.
    """

    def room(
        self, ctx: PolicyContext, *, prior_summary: str | None, focus: str | None
    ) -> int | None:
        """Return the tokens of entries that fit one request beside everything fixed in it.

        Zero or less: not even the fixed part fits. ``None``: there is no limit.
        """
        ...

    def measure(self, entry: TranscriptEntry, ctx: PolicyContext) -> int:
        """Return the tokens that ``entry`` takes in a request, as it will be written there."""
        ...

    def clip(self, entry: TranscriptEntry) -> TranscriptEntry:
        """Return ``entry`` with no more of its text than the summarizer reads."""
        ...
