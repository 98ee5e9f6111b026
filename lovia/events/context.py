"""What happens to the context: passes, folds, and what they changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from lovia.events.base import ContextEvent
from lovia.usage import Usage

if TYPE_CHECKING:
    from lovia.events.facts import ArchiveRef, StageRecord
    from lovia.transcript.entries import TranscriptEntry

__all__ = [
    "ArchiveCallback",
    "CompactionEnded",
    "CompactionNotice",
    "CompactionStarted",
    "ContextCompacted",
    "SummaryFoldCompleted",
]


@dataclass(frozen=True)
class CompactionNotice:
    """What one compaction did, JSON-safe and fit to be shown to people.

    Attributes:
        reason: The most expensive stage that acted.
        reactive: Whether the provider had refused the request.
        summary: The new summary, or ``None``.
        tokens_before: Request tokens without this pass.
        tokens_after: Request tokens with it.
        history_tokens: The whole transcript as a request.
        detail: What was done, in sentences: one for each stage that acted, or the policy's own.
    """

    reason: str | None
    reactive: bool
    summary: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    history_tokens: int | None = None
    detail: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in one plain sentence."""
        lead = (
            "The provider refused the request; context compacted"
            if self.reactive
            else "Context compacted"
        )
        why = f" ({self.reason})" if self.reason else ""
        if self.tokens_before is None or self.tokens_after is None:
            return f"{lead}{why}."
        freed = self.tokens_before - self.tokens_after
        before, after = _thousands(self.tokens_before), _thousands(self.tokens_after)
        text = f"{lead}{why}: request {before} -> {after} tokens, freed {_thousands(freed)}"
        if self.history_tokens is not None:
            text += f"; history {_thousands(self.history_tokens)}"
        return text + "."


@dataclass
class ContextCompacted(ContextEvent):
    """A pass changed what the model sees.

    Attributes:
        session_id: The conversation.
        entries_before: The transcript; it stays the truth.
        entries_after: The view of it that is sent.
        summary: Text newly produced by the pass.
        reactive: Whether the provider had refused the request.
        reason: The most expensive stage that acted.
        archive_ref: Where the entries that the pass removed are kept.
        tokens_before_estimate: This request without this pass.
        tokens_after_estimate: This request with it.
        history_tokens_estimate: The whole transcript as a request.
        run_id: The run.
        agent: The active agent's name.
        outcome: The pass's outcome.
        stages: What each stage did.
        usage: What the pass's own model calls spent.
        pass_id: The pass, as telemetry names it.
        detail: Sentences for people, of a policy that writes its own; otherwise the stages' notes
            are shown.
    """

    session_id: str | None
    entries_before: list[TranscriptEntry]
    entries_after: list[TranscriptEntry]
    summary: str | None = None
    reactive: bool = False
    reason: str | None = None
    archive_ref: ArchiveRef | None = None
    tokens_before_estimate: int | None = None
    tokens_after_estimate: int | None = None
    history_tokens_estimate: int | None = None
    run_id: str | None = None
    agent: str | None = None
    outcome: str | None = None
    stages: tuple[StageRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    pass_id: str | None = None
    detail: tuple[str, ...] = ()

    @property
    def freed(self) -> int | None:
        """Tokens that the pass took off the request."""
        if self.tokens_before_estimate is None or self.tokens_after_estimate is None:
            return None
        return self.tokens_before_estimate - self.tokens_after_estimate

    @property
    def notice(self) -> CompactionNotice:
        """The same, for people."""
        return CompactionNotice(
            reason=self.reason,
            reactive=self.reactive,
            summary=self.summary,
            tokens_before=self.tokens_before_estimate,
            tokens_after=self.tokens_after_estimate,
            history_tokens=self.history_tokens_estimate,
            detail=self.detail
            or tuple(
                f"{s.name}: {s.note}" for s in self.stages if s.note and s.outcome == "applied"
            ),
        )


@dataclass
class CompactionStarted(ContextEvent):
    """A pass begins.

    Attributes:
        pass_id: Names the pass in later events and in telemetry.
        trigger: ``threshold``, ``entries``, ``batch``, ``overflow`` or ``manual``.
        tokens_before: Request tokens without the pass.
        session_id: The conversation.
    """

    pass_id: str
    trigger: str
    tokens_before: int
    session_id: str | None = None


@dataclass
class SummaryFoldCompleted(ContextEvent):
    """One fold of a summary is done: the ``index``-th (from 1) of about ``planned``."""

    index: int
    planned: int
    usage: Usage
    pass_id: str | None = None


@dataclass
class CompactionEnded(ContextEvent):
    """A pass ended, with its outcome."""

    outcome: str
    pass_id: str | None = None
    tokens_after: int | None = None


ArchiveCallback: TypeAlias = Callable[[ContextCompacted], Awaitable[None]]


def _thousands(tokens: int) -> str:
    """Shorten a token count: 152_340 -> 152k."""
    return f"{tokens / 1000:.0f}k" if abs(tokens) >= 10_000 else f"{tokens:,}"  # noqa: PLR2004 - five digits
