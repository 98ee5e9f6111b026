"""When a pass is due, and when passes stopped being worth it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from lovia.context.pipeline.memory import Stall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.options import CompactionOptions
    from lovia.context.pipeline.calls import Call
    from lovia.context.policy import ContextStage

__all__ = ["due", "rested"]

_log = logging.getLogger("lovia.context")

#: A pass that frees a smaller share of the request was not worth its while.
_USEFUL_SHARE: Final = 0.01
#: After so many useless passes in a row compaction rests for longer, and says so once.
_STALLED_AFTER: Final = 2
#: How much the request has to grow after a useless pass before the next one.
_GROWTH: Final = 1.05
_GROWTH_WHEN_STALLED: Final = 1.25


def due(call: Call, options: CompactionOptions, stages: Sequence[ContextStage]) -> str | None:
    """Return why a pass is due: ``threshold``, ``entries`` or ``batch``; ``None`` when none is.

    A newly arrived batch may hold results that are too large to send, whatever the size of the
    request. Otherwise nothing happens between trigger and target: compaction comes in rare bursts.
    """
    new = call.entries[call.memory.sent :]
    limits, view = call.limits, call.memory.view
    over = limits.trigger is not None and call.size.tokens > limits.trigger
    crowded = options.max_entries is not None and view.view_length > options.max_entries
    if (over or crowded) and not _is_stalled(call):
        return "threshold" if over else "entries"
    on_arrival = (getattr(stage, "wants", None) for stage in stages)
    return "batch" if any(wants(new) for wants in on_arrival if callable(wants)) else None


def rested(call: Call, request_after: int, *, changed: bool) -> Stall | None:
    """Return how many useless passes there were in a row, this one included."""
    stall = call.memory.stall
    freed = call.size.tokens - request_after
    if changed and freed >= call.size.tokens * _USEFUL_SHARE:
        return None
    count = (stall.count if stall else 0) + 1
    if count == _STALLED_AFTER:
        _log.warning(
            "Compaction cannot make a request of %d tokens much smaller; it rests until it grows.",
            request_after,
        )
    return Stall(count, request_after, call.memory.view.view_length)


def _is_stalled(call: Call) -> bool:
    """Tell whether the last passes were useless and the request has hardly grown since."""
    stall = call.memory.stall
    if stall is None:
        return False
    growth = _GROWTH if stall.count < _STALLED_AFTER else _GROWTH_WHEN_STALLED
    grown = call.size.tokens > stall.tokens * growth
    return not grown and call.memory.view.view_length <= stall.entries * growth
