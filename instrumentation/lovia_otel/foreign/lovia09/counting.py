"""How the 0.9 line counts: by its own counter, on the scale that it learned from the provider."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import names
from lovia_otel.foreign.sizes import Measure, Size

if TYPE_CHECKING:
    from collections.abc import Sequence

_REQUEST: Final = "CompactionRequest"
_ESTIMATES: Final = "estimate_tokens"  # what a provider with a tokenizer of its own has

# One counter a provider: it remembers the size of each entry that it has seen.
_counters: Final[weakref.WeakKeyDictionary[Any, Any]] = weakref.WeakKeyDictionary()


def is_request(value: object) -> bool:
    """Is this what that line hands its policies?"""
    return type(value).__name__ == _REQUEST and hasattr(_context(value), "TokenCounter")


def measure_for(request: Any) -> Measure:
    """Return how the policy that gets this request would measure entries."""
    counter, scale = _counter(request), _scale(request)
    source = names.SOURCE_TOKENIZER if hasattr(request.provider, _ESTIMATES) else names.SOURCE_BYTES

    def measure(entries: Sequence[Any]) -> Size:
        return Size(round(counter.count(entries) * scale), len(entries), source)

    return measure


def request_size(request: Any, entries: Sequence[Any]) -> Size:
    """Measure the request that ``entries`` make, with the tools."""
    counter, size = _counter(request), measure_for(request)(entries)
    counted = counter.count(entries) + counter.count_tools(request.tools)
    return replace(size, tokens=int(counted * _scale(request)))


def tools_tokens(request: Any) -> int:
    """Return the tokens of the tool schemas, which each request carries beside the entries."""
    tokens: int = _counter(request).count_tools(request.tools)
    return round(tokens * _scale(request))


def view_tokens(ctx: Any) -> int | None:
    """Return the tokens of the request as a stage's decisions so far leave it.

    ``ctx`` is what a stage is handed; ``None`` when it is not of that line.
    """
    request: Any = getattr(ctx, "request", None)
    if not is_request(request):
        return None
    view = _context(request).render_view(request.entries, ctx.state)
    counted: int = ctx.counter.count(view) + ctx.counter.count_tools(request.tools)
    tokens: int = ctx.calibrated(counted)
    return tokens


def window_of(policy: Any, request: Any) -> int | None:
    """Return the model's window: the policy's own, or what the provider says."""
    told = getattr(policy, "context_window", None)
    if not isinstance(told, int):
        ask = getattr(request.provider, "context_window", None)
        told = ask() if callable(ask) else None
    return told if isinstance(told, int) else None


def _counter(request: Any) -> Any:
    make = _context(request).TokenCounter
    try:
        counter = _counters.get(request.provider)
        if counter is None:
            counter = _counters[request.provider] = make(request.provider)
        return counter
    except TypeError:  # a provider that cannot be referred to weakly
        return make(request.provider)


def _scale(request: Any) -> float:
    """Return tokens as the provider counts them per token of the counter."""
    return float(_context(request).CompactionState.load(request.scratch).ratio)


def _context(request: object) -> Any:
    """Return the package's `context` module, which is there since the request came from it."""
    package = type(request).__module__.partition(".")[0]
    return sys.modules.get(f"{package}.context")
