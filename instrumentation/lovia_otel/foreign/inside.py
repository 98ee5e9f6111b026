"""The stages and the summarizer inside a policy, where they can be reached.

A policy that keeps them in its attributes ``stages`` and ``summarizer`` is asked through a twin
that finds observed ones there; the policy itself and its attributes stay as they are. Outside of an
observed pass, what is observed does nothing but its own work.
"""

from __future__ import annotations

import functools
import inspect
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import fold_scope, names
from lovia_otel._proxy import is_stand_in, stand_in
from lovia_otel.foreign.lovia09.counting import view_tokens
from lovia_otel.foreign.passes import PassSpent, current_pass
from lovia_otel.foreign.twins import Watch, quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lovia_otel.foreign.passes import ObservedPass
    from lovia_otel.spans import FoldScope, StageScope

_STAGE_METHODS: Final = ("plan", "apply")


def reaching_inside(policy: Any) -> Any:
    """Return a twin of ``policy`` whose stages and summarizer are observed, or the policy itself.

    The latter where it has none, or is of a class that has no twins (one with slots, say).
    """
    held = getattr(policy, "__dict__", {})
    found = frozenset(name for name in _OBSERVED if held.get(name))
    if not found or getattr(policy, "__lovia_observed__", False):
        return policy
    return quietly(policy)(_watch(found).twin)(policy)


def observed_stage(stage: Any) -> Any:
    """Return a stand-in for a stage that is a span whenever it works inside an observed pass."""
    if is_stand_in(stage) or not any(callable(getattr(stage, m, None)) for m in _STAGE_METHODS):
        return stage
    return stand_in(_with_summarizer(stage), _stage_methods)


def observed_summarizer(summarizer: Any) -> Any:
    """Return a stand-in for a summarizer whose calls inside an observed pass are folds."""
    if is_stand_in(summarizer) or not callable(getattr(summarizer, "summarize", None)):
        return summarizer
    return stand_in(summarizer, _summarizer_methods)


# --- attributes that read otherwise on the twin ---


class _Inside(Watch):
    """How policies and stages with some of the observed attributes are watched."""

    def __init__(self, found: frozenset[str]) -> None:
        super().__init__()
        self._found = found

    def attributes(self) -> Mapping[str, property]:
        return {name: _seen_as(name, _OBSERVED[name]) for name in self._found}


def _observed_stages(stages: Any) -> Any:
    if not isinstance(stages, list | tuple):
        return stages
    return type(stages)(observed_stage(stage) for stage in stages)


_OBSERVED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "stages": _observed_stages,
    "summarizer": observed_summarizer,
}


def _seen_as(name: str, seen: Callable[[Any], Any]) -> property:
    def read(twin: Any) -> Any:
        return seen(vars(twin)[name])

    def write(twin: Any, value: Any) -> None:
        vars(twin)[name] = value

    return property(read, write)


@functools.cache
def _watch(found: frozenset[str]) -> _Inside:
    return _Inside(found)


def _with_summarizer(stage: Any) -> Any:
    held = getattr(stage, "__dict__", {})
    if not held.get("summarizer"):
        return stage
    return quietly(stage)(_watch(frozenset({"summarizer"})).twin)(stage)


# --- a stage at work ---


def _stage_methods(stage: Any) -> Mapping[str, Callable[..., Any]]:
    methods = {name: getattr(stage, name, None) for name in _STAGE_METHODS}
    return {
        name: _stage_method(stage, method) for name, method in methods.items() if callable(method)
    }


def _stage_method(stage: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    name = str(getattr(stage, "name", None) or type(stage).__name__)

    @quietly(None)
    def begin(work: _Work) -> StageScope:
        told = getattr(work.ctx, "current_tokens", None)
        before = told if isinstance(told, int) else work.observed.measure(work.entries).tokens
        return work.scopes.enter_context(work.observed.stage(name, tokens_before=before))

    return _inside_a_pass(method, begin, _settle_stage)


@quietly(None)
def _settle_stage(scope: StageScope | None, work: _Work, result: Any) -> None:
    """A stage that plans says whether it decided something; one that applies returns a view."""
    if scope is None:
        return
    if isinstance(result, bool):
        outcome = names.APPLIED if result else names.NOOP
        scope.settle(outcome=outcome, tokens_after=view_tokens(work.ctx))
        return
    view = getattr(result, "entries", result)
    changed = getattr(result, "changed", None)
    if not isinstance(changed, bool):
        changed = view != work.entries
    after = work.observed.measure(view)
    scope.settle(
        outcome=names.APPLIED if changed else names.NOOP,
        tokens_after=after.tokens,
        entries_after=after.entries,
        note=getattr(result, "note", None),
    )


# --- a summarizer at work ---


def _summarizer_methods(summarizer: Any) -> Mapping[str, Callable[..., Any]]:
    return {"summarize": _inside_a_pass(summarizer.summarize, _begin_fold, _settle_fold)}


@quietly(None)
def _begin_fold(work: _Work) -> FoldScope:
    observed = work.observed
    index, observed.folds = observed.folds, observed.folds + 1
    size = observed.measure(work.entries)
    return work.scopes.enter_context(
        fold_scope(index=index, tokens=size.tokens, entries=size.entries)
    )


@quietly(None)
def _settle_fold(scope: FoldScope | None, work: _Work, result: Any) -> None:
    text, usage = getattr(result, "text", result), getattr(result, "usage", None)
    if scope is not None:
        scope.settle(summary_tokens=work.observed.measure([text]).tokens)
    work.observed.spend(
        PassSpent(
            summary_calls=1,
            summary_input_tokens=_whole(usage, "input_tokens"),
            summary_output_tokens=_whole(usage, "output_tokens"),
        )
    )


def _whole(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) else None


# --- both ---


@dataclass(frozen=True)
class _Work:
    """One call of a stage or a summarizer inside a pass."""

    observed: ObservedPass
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    scopes: ExitStack

    @property
    def entries(self) -> Sequence[Any]:
        """The first argument: what the stage or the summarizer works on."""
        first: Sequence[Any] = self.args[0] if self.args else next(iter(self.kwargs.values()))
        return first

    @property
    def ctx(self) -> Any:
        """The context: the argument of that name, or the second one."""
        return self.kwargs.get("ctx", self.args[1] if len(self.args) > 1 else None)


def _inside_a_pass(
    method: Callable[..., Any],
    begin: Callable[[_Work], Any],
    settle: Callable[[Any, _Work, Any], None],
) -> Callable[..., Any]:
    """Return a callable like ``method`` that opens a scope when it is called inside a pass."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            observed = current_pass()
            if observed is None:
                return await method(*args, **kwargs)
            with ExitStack() as scopes:
                work = _Work(observed, args, kwargs, scopes)
                scope = begin(work)
                result = await method(*args, **kwargs)
                settle(scope, work, result)
                return result

        return acall

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        observed = current_pass()
        if observed is None:
            return method(*args, **kwargs)
        with ExitStack() as scopes:
            work = _Work(observed, args, kwargs, scopes)
            scope = begin(work)
            result = method(*args, **kwargs)
            settle(scope, work, result)
            return result

    return call
