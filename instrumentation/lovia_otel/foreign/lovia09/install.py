"""Instrumenting the 0.9 line, and undoing it."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lovia_otel import providers
from lovia_otel.foreign.lovia09.compaction import observed_compact
from lovia_otel.foreign.lovia09.model import observed_stream
from lovia_otel.foreign.lovia09.patches import Patches
from lovia_otel.foreign.lovia09.run import Run, Steps
from lovia_otel.foreign.lovia09.storage import observed_append, observed_load, observed_put
from lovia_otel.foreign.lovia09.tracer import ScopeTracer
from lovia_otel.foreign.twins import quietly

if TYPE_CHECKING:
    from collections.abc import Callable


def install() -> Patches:
    """Instrument the installed package and return what undoes it.

    Classes of users' own (policies, providers, stores) are instrumented when a run first uses one.

    Raises:
        ImportError: the package is not installed, or has no ``Agent`` and ``Runner``.
    """
    lovia: Any = import_module("lovia")
    patches = Patches()
    sight = _Sight(patches)
    patches.method(lovia.Runner, "stream", functools.partial(_observed_runs, sight=sight))
    patches.method(
        lovia.Agent, "resolve_provider", functools.partial(_observed_resolving, sight=sight)
    )
    return patches


class _Sight:
    """Instruments the class of whatever a run uses, the first time it is seen."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    @quietly(None)
    def agent(self, agent: Any) -> None:
        """Look at an agent's parts, and at those of the agents that it can hand over to."""
        seen: set[int] = set()
        waiting = [agent]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            self.policy(getattr(one, "context_policy", None))
            waiting.extend(getattr(to, "target", to) for to in getattr(one, "handoffs", None) or ())

    @quietly(None)
    def policy(self, policy: Any) -> None:
        """Look at a policy, the store that it keeps results in, and its summarizers' providers."""
        if policy is None:
            return
        self._patches.method(type(policy), "compact", observed_compact)
        store = getattr(policy, "store", None)
        if store is not None:
            self._patches.method(type(store), "put", observed_put)
        for stage in getattr(policy, "stages", None) or ():
            self.provider(getattr(getattr(stage, "summarizer", None), "provider", None))

    @quietly(None)
    def provider(self, provider: Any) -> None:
        """Look at a provider."""
        if provider is not None:
            self._patches.method(type(provider), "stream", observed_stream)

    @quietly(None)
    def checkpoint(self, options: Any) -> None:
        """Look at where a run is saved."""
        checkpointer = getattr(options, "checkpointer", None)
        if checkpointer is not None:
            self._patches.method(type(checkpointer), "append", observed_append)
            self._patches.method(type(checkpointer), "load", observed_load)


def _observed_runs(stream: Callable[..., Any], sight: _Sight) -> Callable[..., Any]:
    @functools.wraps(stream)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not providers.recording():
            return stream(*args, **kwargs)
        run = Run(session_id=kwargs.get("session_id"))
        _look(sight, args, kwargs)
        theirs = kwargs.get("tracer")
        if isinstance(theirs, ScopeTracer):  # of the run whose tool starts this one
            theirs = theirs.theirs
        handle = stream(*args, **{**kwargs, "tracer": ScopeTracer(run, theirs)})
        _keep_apart(handle, run)
        return handle

    return call


def _observed_resolving(resolve: Callable[..., Any], sight: _Sight) -> Callable[..., Any]:
    @functools.wraps(resolve)
    def call(*args: Any, **kwargs: Any) -> Any:
        provider = resolve(*args, **kwargs)
        sight.provider(provider)
        return provider

    return call


@quietly(None)
def _look(sight: _Sight, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    sight.agent(args[0] if args else kwargs.get("agent"))
    sight.policy(kwargs.get("context_policy"))
    sight.checkpoint(kwargs.get("checkpoint"))


@quietly(None)
def _keep_apart(handle: Any, run: Run) -> None:
    """Make the run's steps in a context of its own, out of sight of whoever reads its events."""
    events = handle._stream  # noqa: SLF001 - the constructor's first parameter, by its name
    handle._stream = Steps(events, run)  # noqa: SLF001 - likewise
