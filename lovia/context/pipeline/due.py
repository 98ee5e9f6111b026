"""When a pass is due, and when passes stopped being worth it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from lovia.context.pipeline.memory import Stall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.options import CompactionOptions
    from lovia.context.pipeline.calls import Call
    from lovia.context.pipeline.report import PassReport
    from lovia.context.policy import ContextStage

__all__ = ["due", "rested", "withheld"]

_log = logging.getLogger("lovia.context")

#: A pass that frees a smaller share of the request was not worth its while.
_USEFUL_SHARE: Final = 0.01
#: Nor was one that did all it could and came down by less than this share of the way from trigger
#: to target: what the next turns add would start the next one, and break the prompt's prefix again.
_USEFUL_WAY: Final = 0.5
#: The same for the number of entries, which has no target: so much of the limit has to be free.
_USEFUL_ROOM: Final = 0.125
#: After so many useless passes in a row compaction rests for longer, and says so once.
_STALLED_AFTER: Final = 2
#: How much the request has to grow after a useless pass before the next one.
_GROWTH: Final = 0.05
_GROWTH_WHEN_STALLED: Final = 0.25
#: But no further than this share of what is left of the window, or the next pass comes too late.
_GROWTH_TO_WINDOW: Final = 0.5


def due(call: Call, options: CompactionOptions, stages: Sequence[ContextStage]) -> str | None:
    """Return why a pass is due: ``threshold``, ``entries`` or ``batch``; ``None`` when none is.

    A newly arrived batch may hold results that are too large to send, whatever the size of the
    request. Otherwise nothing happens between trigger and target: compaction comes in rare bursts.
    """
    if _is_over(call, call.size.tokens) and not _rests_by_tokens(call, options):
        return "threshold"
    if _is_crowded(call, options) and not _rests_by_entries(call, options):
        return "entries"
    new = call.entries[call.memory.sent :]
    on_arrival = (getattr(stage, "wants", None) for stage in stages)
    return "batch" if any(wants(new) for wants in on_arrival if callable(wants)) else None


def withheld(call: Call, options: CompactionOptions) -> str | None:
    """Return why no pass is due although the request is above a limit; ``None`` when it is not.

    ``breaker_open``: the last passes did all they could without a summary, and the next summary is
    not tried yet. ``stalled``: they were useless, and the request has hardly grown since.
    """
    stall = call.memory.stall
    if stall is None or not (_is_over(call, call.size.tokens) or _is_crowded(call, options)):
        return None
    return "breaker_open" if stall.waiting and _breaker_is_open(call, options) else "stalled"


def rested(
    call: Call, report: PassReport, trigger: str, options: CompactionOptions
) -> Stall | None:
    """Return how many automatic passes in a row were useless, after one more pass.

    Useless is a pass that frees next to nothing, and one that did all it could and leaves the
    request above the limit that started it, or hardly below: the next turns would start another,
    for what they added alone. A failed summary is none of these: the circuit breaker says when the
    next is tried.
    """
    crowded = _is_crowded(call, options)
    freed = call.size.tokens - report.request_after
    useful = freed >= call.size.tokens * _USEFUL_SHARE or (trigger == "entries" and not crowded)
    if trigger not in {"threshold", "entries"}:
        return None if useful else call.memory.stall
    after, entries = report.request_after, call.memory.view.view_length
    near = _is_near(call, after) if trigger == "threshold" else _is_full(entries, options)
    above = near or crowded or _is_over(call, after)
    if useful and not (above and report.outcome == "compacted"):
        return None
    waiting = _breaker_is_open(call, options)
    if report.summary_failed and not waiting:
        return call.memory.stall
    count = (call.memory.stall.count if call.memory.stall else 0) + 1
    if count == _STALLED_AFTER:
        _log.warning(
            "Compaction cannot bring a request of %d tokens below its limits; "
            "it rests until it grows.",
            after,
        )
    return Stall(count, after, entries, waiting)


def _is_over(call: Call, tokens: int) -> bool:
    return call.limits.trigger is not None and tokens > call.limits.trigger


def _is_near(call: Call, tokens: int) -> bool:
    """Tell whether a request is above the trigger, or so close that it will soon be."""
    trigger, target = call.limits.trigger, call.limits.target
    if trigger is None or target is None:
        return False
    return tokens > trigger - (trigger - target) * _USEFUL_WAY


def _is_crowded(call: Call, options: CompactionOptions) -> bool:
    return options.max_entries is not None and call.memory.view.view_length > options.max_entries


def _is_full(entries: int, options: CompactionOptions) -> bool:
    """Tell whether a view has too many entries, or so many that it will soon have."""
    return options.max_entries is not None and entries > options.max_entries * (1 - _USEFUL_ROOM)


def _rests_by_tokens(call: Call, options: CompactionOptions) -> bool:
    """Tell whether the last passes were useless and the request has hardly grown since."""
    stall, window = call.memory.stall, call.limits.window
    if stall is None or not _is_near(call, stall.tokens):
        return False
    if stall.waiting and not _breaker_is_open(call, options):
        return False
    growth = stall.tokens * _growth(stall)
    if window is not None:
        growth = min(growth, (window - stall.tokens) * _GROWTH_TO_WINDOW)
    return call.size.tokens <= stall.tokens + max(growth, stall.tokens * _USEFUL_SHARE)


def _rests_by_entries(call: Call, options: CompactionOptions) -> bool:
    stall = call.memory.stall
    if stall is None or not _is_full(stall.entries, options):
        return False
    return call.memory.view.view_length <= stall.entries * (1 + _growth(stall))


def _breaker_is_open(call: Call, options: CompactionOptions) -> bool:
    return call.memory.breaker.state(options.summary_cooldown_seconds) == "open"


def _growth(stall: Stall) -> float:
    return _GROWTH if stall.count < _STALLED_AFTER else _GROWTH_WHEN_STALLED
