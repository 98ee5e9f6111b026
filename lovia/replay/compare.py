"""Several policies over the same recordings, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lovia.replay.engine import replay
from lovia.replay.result import ReplayResult, ReplayTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.policy import ContextPolicy
    from lovia.replay.result import ReplayTurn
    from lovia.replay.session import RecordedSession

__all__ = ["Comparison", "Contender", "compare"]


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy that takes part.

    Attributes:
        label: The policy and its settings, for people.
        build: Makes the policy; called for each recording, so that none inherits another's memory.
        window: The model's window in tokens, or ``None``.
    """

    label: str
    build: Callable[[], ContextPolicy]
    window: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The replays of all contenders.

    Attributes:
        contenders: The labels, in order.
        results: One row for each recording, one replay in it for each contender.
    """

    contenders: tuple[str, ...]
    results: tuple[tuple[ReplayResult, ...], ...]

    def totals(self, contender: int) -> ReplayTotals:
        """Return one contender's sums over all recordings."""
        return ReplayTotals.of(tuple(turn for row in self.results for turn in row[contender].turns))

    def to_dict(self, *, timing: bool = False) -> dict[str, Any]:
        """Return a JSON-safe form; durations only on request."""
        return {
            "policies": [
                {"policy": label, "totals": self.totals(number).to_dict(timing=timing)}
                for number, label in enumerate(self.contenders)
            ],
            "recordings": [
                {
                    "name": row[0].name,
                    "totals": [result.totals.to_dict(timing=timing) for result in row],
                }
                for row in self.results
            ],
        }


async def compare(
    sessions: Sequence[RecordedSession],
    contenders: Sequence[Contender],
    *,
    on_turn: Callable[[ReplayTurn, int], None] | None = None,
) -> Comparison:
    """Replay each recording through each policy.

    Args:
        sessions: The recordings, at least one.
        contenders: The policies, at least one.
        on_turn: Told of each finished call and of how many its recording has.

    Raises:
        InvalidViewError: A policy made a view that a provider would refuse.
        LoviaError: A policy changed a transcript.
    """
    rows = []
    for session in sessions:
        row = [
            await replay(session, c.build(), window=c.window, label=c.label, on_turn=on_turn)
            for c in contenders
        ]
        rows.append(tuple(row))
    return Comparison(tuple(c.label for c in contenders), tuple(rows))
