"""What a fold tells: after each step, and at its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from lovia.usage import Usage

__all__ = ["FoldOutcome", "FoldStep"]


@dataclass(frozen=True, slots=True)
class FoldStep:
    """One finished step of a fold: its summary now stands for that many units.

    Attributes:
        summary: The new summary, its identifier ledger included.
        units_done: Units that it covers, counted from the first. It does not grow with a step that
            only made the prior summary smaller, so that new text fits beside it.
        index: Which fold of this span was the last one, from 1.
        planned: How many folds there will be, as far as one can tell.
        usage: What this step spent, failed attempts included.
        degraded: Whether something that was too large alone was read in pieces.
        identifiers_kept: Identifiers that the summary holds.
        identifiers_total: Identifiers of the units newly covered and of the summary before.
    """

    summary: str
    units_done: int
    index: int
    planned: int
    usage: Usage
    degraded: bool = False
    identifiers_kept: int = 0
    identifiers_total: int = 0


@dataclass(frozen=True, slots=True)
class FoldOutcome:
    """What became of a fold.

    Attributes:
        summary: The summary of everything covered; the prior one when nothing new is.
        units_done: Units that it covers, counted from the first.
        chunks_planned: Folds planned, as far as one could tell at the end.
        chunks_folded: Folds that succeeded.
        calls: Model calls of the folds that succeeded, and one for each fold that did not.
        usage: What all of them spent.
        degraded: Whether something that was too large alone was read in pieces.
        identifiers_kept: Identifiers that the summary holds, as of the last step.
        identifiers_total: Identifiers found, as of the last step.
        error: Why the fold ended early, or ``None``.
        reported_window: The window in tokens that a refusal by the summarizer's provider named.
    """

    summary: str | None = None
    units_done: int = 0
    chunks_planned: int = 0
    chunks_folded: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    degraded: bool = False
    identifiers_kept: int = 0
    identifiers_total: int = 0
    error: Exception | None = None
    reported_window: int | None = None
