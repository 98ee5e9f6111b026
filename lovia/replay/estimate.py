"""How close the token estimate comes to what the recording's own provider counted.

A recording seldom holds its whole request: the system prompt and the tool schemas are missing, and
the tool that made it may have compacted its context on the way. Within a stretch between two such
compactions both are constant, so each stretch (a *segment*) is compared on its own: the constant
offset is the mean of recorded minus estimated tokens, which is its least-squares fit, and the
residual is what the offset does not explain.

A residual that grows with the request comes from two tokenizers that cut the same text differently.
So a line is fitted as well, whose slope is the provider's tokens per estimated token. What is left
then is the scatter of single calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, linear_regression
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["UsageComparison", "UsagePoint", "UsageSegment", "compare_usage", "fell"]

#: A history only grows. A recorded count that falls below this share of the one before it therefore
#: means that the recording's own tool compacted its context.
_FALL: Final = 0.9


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """One model call, measured twice.

    Attributes:
        turn: The call's number, from 1.
        message: The index of the answer among the recording's messages.
        estimated: Our estimate of the whole history, in tokens.
        recorded: Prompt tokens as the provider counted them.
    """

    turn: int
    message: int
    estimated: int
    recorded: int


@dataclass(frozen=True, slots=True)
class UsageSegment:
    """A stretch of calls between two compactions of the recording's own tool.

    Attributes:
        first: Its first call.
        last: Its last call.
        calls: How many calls of it have a recorded count.
        offset: The fitted constant: mean of recorded minus estimated, in tokens.
        error: Mean absolute residual after the offset, in tokens.
        largest_error: Largest absolute residual after the offset, in tokens.
        relative_error: ``error`` as a share of the mean recorded count.
        slope: The provider's tokens per estimated token, or ``None`` for fewer than three calls.
        line_error: Mean absolute residual after a fitted line, in tokens, or ``None`` likewise.
    """

    first: UsagePoint
    last: UsagePoint
    calls: int
    offset: int
    error: int
    largest_error: int
    relative_error: float
    slope: float | None
    line_error: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form."""
        return {
            "first_turn": self.first.turn,
            "last_turn": self.last.turn,
            "first_message": self.first.message,
            "last_message": self.last.message,
            "calls": self.calls,
            "offset": self.offset,
            "error": self.error,
            "largest_error": self.largest_error,
            "relative_error": round(self.relative_error, 4),
            "slope": None if self.slope is None else round(self.slope, 4),
            "line_error": self.line_error,
        }


@dataclass(frozen=True, slots=True)
class UsageComparison:
    """The comparison of a whole recording, segment by segment.

    Attributes:
        points: One item for each call with a recorded count.
        segments: The segments, in order.
        unmatched: Recorded counts that belong to no model call of the replay.
    """

    points: tuple[UsagePoint, ...]
    segments: tuple[UsageSegment, ...]
    unmatched: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form."""
        return {
            "calls": len(self.points),
            "unmatched": self.unmatched,
            "segments": [segment.to_dict() for segment in self.segments],
        }


def fell(before: int, after: int) -> bool:
    """Tell whether a recorded count fell so far that the recording's tool must have compacted."""
    return after < before * _FALL


def compare_usage(points: Sequence[UsagePoint], *, unmatched: int = 0) -> UsageComparison:
    """Split the calls into segments and fit each of them."""
    segments = tuple(_fit(segment) for segment in _split(points))
    return UsageComparison(points=tuple(points), segments=segments, unmatched=unmatched)


def _split(points: Sequence[UsagePoint]) -> list[Sequence[UsagePoint]]:
    if not points:
        return []
    falls = [k for k, (a, b) in enumerate(pairwise(points), 1) if fell(a.recorded, b.recorded)]
    bounds = [0, *falls, len(points)]
    return [points[start:stop] for start, stop in pairwise(bounds)]


def _fit(points: Sequence[UsagePoint]) -> UsageSegment:
    offset = fmean(p.recorded - p.estimated for p in points)
    errors = _residuals(points, lambda estimated: estimated + offset)
    slope, line_error = _fit_line(points)
    return UsageSegment(
        first=points[0],
        last=points[-1],
        calls=len(points),
        offset=round(offset),
        error=round(fmean(errors)),
        largest_error=round(max(errors)),
        relative_error=fmean(errors) / max(1.0, fmean(p.recorded for p in points)),
        slope=slope,
        line_error=line_error,
    )


def _fit_line(points: Sequence[UsagePoint]) -> tuple[float | None, int | None]:
    """Fit a line; two points always lie on one, so fewer than three say nothing."""
    estimated = [float(p.estimated) for p in points]
    if len(points) < 3 or max(estimated) == min(estimated):  # noqa: PLR2004 - see the docstring
        return None, None
    slope, intercept = linear_regression(estimated, [float(p.recorded) for p in points])
    errors = _residuals(points, lambda x: slope * x + intercept)
    return slope, round(fmean(errors))


def _residuals(points: Sequence[UsagePoint], predict: Callable[[float], float]) -> list[float]:
    return [abs(p.recorded - predict(p.estimated)) for p in points]
