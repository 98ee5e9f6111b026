"""Passes of the 0.9 line's policies, and the sizes of the view that a pass leaves for the call."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from lovia_otel import names, providers
from lovia_otel.foreign.calls import watched
from lovia_otel.foreign.inside import reaching_inside
from lovia_otel.foreign.lovia09 import run as runs
from lovia_otel.foreign.lovia09.counting import (
    is_request,
    measure_for,
    request_size,
    tools_tokens,
    window_of,
)
from lovia_otel.foreign.passes import ObservedPass, PassAbout
from lovia_otel.foreign.shapes import settle_pass
from lovia_otel.spans import ChatSizes

if TYPE_CHECKING:
    from collections.abc import Callable


def observed_compact(compact: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``compact()`` method whose calls are passes.

    A pass has a span only when a stage works: most calls merely render earlier decisions again.
    """

    def within(policy: Any) -> Callable[..., Any]:
        inner = functools.partial(compact, reaching_inside(policy))
        return watched(inner, functools.partial(_begin, policy), _settle)

    if inspect.iscoroutinefunction(compact):

        @functools.wraps(compact)
        async def acall(policy: Any, *args: Any, **kwargs: Any) -> Any:
            if not providers.recording():
                return await compact(policy, *args, **kwargs)
            return await within(policy)(*args, **kwargs)

        return acall

    @functools.wraps(compact)
    def call(policy: Any, *args: Any, **kwargs: Any) -> Any:
        if not providers.recording():
            return compact(policy, *args, **kwargs)
        return within(policy)(*args, **kwargs)

    return call


class _Pass(ObservedPass):
    """A pass that knows the request that the policy got."""

    def __init__(self, policy: Any, request: Any, about: PassAbout) -> None:
        self.request = request
        super().__init__(
            request.entries,
            about=about,
            measure=measure_for(request),
            subject=getattr(policy, "__wrapped__", policy),
            lazy=bool(getattr(policy, "stages", None)),
        )


def _begin(policy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedPass:
    request = args[0] if args else kwargs["req"]
    if not is_request(request):
        raise TypeError("no compaction request")
    run = runs.current()
    provider = request.provider
    about = PassAbout(
        policy=type(policy).__name__,
        trigger=names.TRIGGER_OVERFLOW if request.overflow else names.TRIGGER_THRESHOLD,
        agent=run.agent if run is not None else None,
        session_id=run.session_id if run is not None else None,
        model=request.model or getattr(provider, "model", None),
        provider=getattr(provider, "name", None),
        window_tokens=window_of(policy, request),
        fixed_tokens=tools_tokens(request),
        per_call=True,
        in_runtime=True,
    )
    return _Pass(policy, request, about)


def _settle(observed: ObservedPass, result: Any) -> None:
    settle_pass(observed, result)
    run = runs.current()
    if not isinstance(observed, _Pass):
        return
    # The policy may have learned the provider's scale just now.
    observed.history = request_size(observed.request, observed.request.entries)
    if run is None:
        return
    if result.compacted:
        run.compacted()
    run.sizes = _sizes(observed, result.tokens_after)
    changed = names.VIEW_COMPACTED if result.compacted else names.VIEW_REPLAYED
    run.view = changed if result.changed else names.VIEW_ORIGINAL


def _sizes(observed: ObservedPass, request: int | None) -> ChatSizes:
    history, window = observed.history.tokens, observed.about.window_tokens
    saved = None
    if history is not None and request is not None and window is not None:
        saved = min(history, window) - request
    return ChatSizes(history, request, window, saved, observed.history.source)
