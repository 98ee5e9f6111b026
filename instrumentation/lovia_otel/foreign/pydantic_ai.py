"""Pydantic AI's capabilities that compact the history: its own, its harness's, and anybody's.

A capability rewrites the messages before a model request, for good. Those that compose others
(tiers, fallbacks) or write summaries are seen from inside. What the model's provider compacts on
its side is told by what it sends back.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lovia_otel import names
from lovia_otel.foreign.given import Given
from lovia_otel.foreign.passes import ObservedPass, PassAbout, current_pass, now
from lovia_otel.foreign.pydantic_models import ModelWatch
from lovia_otel.foreign.sizes import Measure, Size, same, size_by, size_from_bytes
from lovia_otel.foreign.twins import Watch, ancestry, listening, quietly
from lovia_otel.guard import guarded
from lovia_otel.spans import fold_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lovia_otel.foreign.passes import Moment
    from lovia_otel.foreign.twins import Method
    from lovia_otel.observe import Observation, Predicate, Wrapper

_PACKAGE: Final = "pydantic_ai"
_BASE: Final = "AbstractCapability"
_HARNESS: Final = "pydantic_ai_harness.compaction"
_ON_THE_SERVER: Final = ("OpenAICompaction", "AnthropicCompaction")
_MANY: Final = ("tiers", "fallback_chain")  # attributes that hold several strategies
_ONE: Final = ("strategy", "summarizer")  # attributes that hold one


class CapabilityPass(ObservedPass):
    """A pass in a run of Pydantic AI. ``instrumented``: it has spans of its own for model calls."""

    def __init__(self, *args: Any, ctx: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tracer = getattr(ctx, "tracer", None)
        self.instrumented: bool = tracer is not None and type(tracer).__name__ != "NoOpTracer"


class CapabilityWatch(Watch):
    """Watches capabilities and the strategies inside them."""

    methods: ClassVar[tuple[str, ...]] = ("before_model_request", "compact", "_summarize")
    base = _BASE

    def __init__(self, said: Observation) -> None:
        super().__init__()
        self._said = said
        self._models = ModelWatch()

    def attributes(self) -> Mapping[str, property]:
        """Let a capability at work find its strategies and its model watched."""
        several = {name: self._seen(name, self._watched_all) for name in _MANY}
        single = {name: self._seen(name, self._watched) for name in _ONE}
        return {**several, **single, "model": self._seen("model", self._watched_model)}

    def watch_before_model_request(self, inner: Method) -> Method:
        """Make the hook before a model request a pass."""

        async def before(capability: Any, ctx: Any, request: Any) -> Any:
            observed = self._pass(capability, ctx, request)
            if observed is None:
                return await inner(capability, ctx, request)
            with observed, self._watching_the_model(request) as restore:
                result = await inner(capability, ctx, request)
                restore(result)
                _settle(observed, result)
                return result

        return before

    def watch_compact(self, inner: Method) -> Method:
        """Make a strategy at work a stage, and one that is asked directly a pass of its own."""

        async def compact(strategy: Any, messages: Any, ctx: Any, *args: Any, **kw: Any) -> Any:
            observed = current_pass()
            if observed is not None and observed.live:
                return await _stage(observed, strategy, messages, inner, ctx, *args, **kw)
            asked = self._asked(strategy, messages, ctx)
            if asked is None:
                return await inner(strategy, messages, ctx, *args, **kw)
            with asked:
                result = await _stage(asked, strategy, messages, inner, ctx, *args, **kw)
                asked.settle(result, reason=asked.about.policy)
                return result

        return compact

    def watch__summarize(self, inner: Method) -> Method:
        """Make the writing of a summary a fold."""

        async def summarize(strategy: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            observed = current_pass()
            if observed is None or not observed.live:
                return await inner(strategy, messages, *args, **kwargs)
            index, observed.folds = observed.folds, observed.folds + 1
            size = _measured(observed.measure, messages)
            with fold_scope(index=index, tokens=size.tokens, entries=size.entries) as fold:
                result = await inner(strategy, messages, *args, **kwargs)
                text = getattr(result, "text", result)
                fold.settle(summary_tokens=observed.measure([text]).tokens)
                observed.tell_summary(lambda: str(text))
                return result

        return summarize

    # --- what a capability at work finds ---

    def _seen(self, name: str, watched: Callable[[Any], Any]) -> property:
        def read(capability: Any) -> Any:
            value = _held(capability, name)
            observed = current_pass()
            at_work = observed is not None and observed.live
            return quietly(value)(watched)(value) if at_work else value

        def write(capability: Any, value: Any) -> None:
            vars(capability)[name] = value

        return property(read, write)

    def _watched(self, strategy: Any) -> Any:
        observed = getattr(strategy, "__lovia_observed__", False)
        return strategy if observed or strategy is None else self.twin(strategy)

    def _watched_all(self, strategies: Any) -> Any:
        return [self._watched(strategy) for strategy in strategies]

    @contextmanager
    def _watching_the_model(self, request: Any) -> Iterator[Callable[[Any], None]]:
        """Have a request name the twin of its model; yields what puts the model back."""
        model = getattr(request, "model", None)
        twin = self._watched_model(model)

        @guarded
        def restore(holder: Any) -> None:
            if holder.model is twin and twin is not model:
                holder.model = model

        guarded(setattr)(request, "model", twin)
        try:
            yield restore
        finally:
            restore(request)

    @quietly(None)
    def _twin_of_model(self, model: Any) -> Any:
        return self._models.twin(model)

    def _watched_model(self, model: Any) -> Any:
        watched = getattr(type(model), "__lovia_observed__", False)
        if model is None or isinstance(model, str) or watched:
            return model
        return self._twin_of_model(model) or model

    # --- passes ---

    @quietly(None)
    def _pass(self, capability: Any, ctx: Any, request: Any) -> CapabilityPass | None:
        if not listening():
            return None
        return CapabilityPass(
            list(request.messages),
            ctx=ctx,
            about=about_run(capability, self._said, ctx, request.model, trigger_of(capability)),
            measure=measure_of(capability, self._said),
            subject=capability,
            lazy=True,
        )

    @quietly(None)
    def _asked(self, strategy: Any, messages: Any, ctx: Any) -> CapabilityPass | None:
        if not listening():
            return None
        return CapabilityPass(
            list(messages),
            ctx=ctx,
            about=about_run(strategy, self._said, ctx, ctx.model, names.TRIGGER_MANUAL),
            measure=measure_of(strategy, self._said),
            subject=strategy,
        )

    def _members(self, kind: type) -> dict[str, Any]:
        members = super()._members(kind)
        for name in (*_MANY, *_ONE, "model"):
            if hasattr(getattr(kind, name, None), "__get__"):  # a property or a method: its own
                members.pop(name, None)
        return members


class ServerSideWatch(CapabilityWatch):
    """Watches capabilities that have the provider compact, in the middle of a model request."""

    def attributes(self) -> Mapping[str, property]:
        """Leave the attributes alone: nothing is done here."""
        return {}

    def _members(self, kind: type) -> dict[str, Any]:
        return {**super()._members(kind), "wrap_model_request": self._around(kind)}

    def _around(self, kind: type) -> Method:
        inner: Method = kind.wrap_model_request  # type: ignore[attr-defined]

        async def wrap_model_request(
            capability: Any, ctx: Any, *, request_context: Any, handler: Any
        ) -> Any:
            started = now()
            response = await inner(
                capability, ctx, request_context=request_context, handler=handler
            )
            if listening():
                self._tell(capability, ctx, request_context, response, started)
            return response

        return wrap_model_request

    @guarded
    def _tell(
        self, capability: Any, ctx: Any, request: Any, response: Any, started: Moment
    ) -> None:
        """Record a pass where the response says that there was one; it took what the call took."""
        if not any(getattr(part, "part_kind", None) == "compaction" for part in response.parts):
            return
        with ObservedPass(
            list(request.messages),
            about=about_run(capability, self._said, ctx, request.model, names.TRIGGER_THRESHOLD),
            measure=measure_of(capability, self._said),
            subject=capability,
            lazy=True,
            started=started,
        ) as observed:
            observed.settle([response], changed=True, reason=observed.about.policy)


# --- what is known of a run ---


def about_run(capability: Any, said: Observation, ctx: Any, model: Any, trigger: str) -> PassAbout:
    """Return what is known of a pass in a run: its agent, conversation, model and window."""
    agent = getattr(ctx, "agent", None)
    return PassAbout(
        policy=said.name_of(capability),
        trigger=trigger,
        agent=said.agent or getattr(agent, "name", None),
        session_id=getattr(ctx, "conversation_id", None),
        model=getattr(model, "model_name", None),
        provider=getattr(model, "system", None),
        window_tokens=said.window_tokens or _window(capability, model),
        tokens_target=_whole(capability, "target_tokens") or _whole(capability, "keep_tokens"),
    )


def trigger_of(capability: Any) -> str:
    """Return why a capability acts: for its limit on messages alone, or for one on tokens."""
    by_entries = any(_whole(capability, n) for n in ("max_messages", "message_count_threshold"))
    by_tokens = any(getattr(capability, n, None) for n in ("max_tokens", "max_fraction"))
    return names.TRIGGER_ENTRIES if by_entries and not by_tokens else names.TRIGGER_THRESHOLD


def measure_of(capability: Any, said: Observation) -> Measure:
    """Return how to measure: by what was said, by the capability's tokenizer, or by bytes."""
    if said.counter is not None:
        return size_by(said.counter)
    tokenizer = getattr(capability, "tokenizer", None)
    estimate = getattr(sys.modules.get(_HARNESS), "estimate_token_count", None)
    if estimate is None:
        return size_from_bytes
    source = names.SOURCE_BYTES if tokenizer is None else names.SOURCE_TOKENIZER
    return size_by(lambda messages: estimate(list(messages), tokenizer), source)


@quietly(None)
def _window(capability: Any, model: Any) -> int | None:
    said = _whole(capability, "context_window")
    profile = getattr(model, "profile", None)
    return said or (profile.get("context_window") if isinstance(profile, dict) else None)


def _whole(capability: Any, name: str) -> int | None:
    value = getattr(capability, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _held(capability: Any, name: str) -> Any:
    """Return an attribute as the original has it: of the object, else of one of its classes."""
    held = (vars(capability), *(vars(kind) for kind in type(capability).__mro__[1:]))
    for attributes in held:
        if name in attributes:
            return attributes[name]
    raise AttributeError(name)


# --- stages ---


@guarded
def _settle(observed: ObservedPass, result: Any) -> None:
    observed.settle(result.messages, reason=observed.about.policy)


async def _stage(
    observed: ObservedPass, strategy: Any, messages: Any, inner: Method, *args: Any, **kwargs: Any
) -> Any:
    before = list(messages)
    size = _measured(observed.measure, before)
    with observed.stage(type(strategy).__name__, tokens_before=size.tokens) as stage:
        result = await inner(strategy, messages, *args, **kwargs)
        after = _measured(observed.measure, result)
        stage.settle(
            outcome=names.NOOP if _unchanged(before, result) else names.APPLIED,
            tokens_after=after.tokens,
            entries_after=after.entries,
        )
        return result


@quietly(Size(None, None))
def _measured(measure: Measure, messages: Sequence[Any]) -> Size:
    return measure(messages)


@quietly(False)  # noqa: FBT003 - the default
def _unchanged(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return same(before, after)


def given(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Given | None:
    """Return what a history processor is given: a list of messages, and the run before it, or not.

    It has no name of its own kind: the messages say that it is one.
    """
    values = [*args, *kwargs.values()]
    messages = values[-1] if values else None
    if not isinstance(messages, list) or not messages:
        return None
    if type(messages[0]).__module__.partition(".")[0] != _PACKAGE:
        return None
    ctx = values[0] if len(values) > 1 else None
    model = getattr(ctx, "model", None)
    return Given(
        messages,
        agent=getattr(getattr(ctx, "agent", None), "name", None),
        session_id=getattr(ctx, "conversation_id", None),
        model=getattr(model, "model_name", None),
        provider=getattr(model, "system", None),
    )


def _is_capability(subject: object) -> bool:
    return not isinstance(subject, type) and (_PACKAGE, _BASE) in ancestry(subject)


def _is_on_the_server(subject: object) -> bool:
    return any(
        package == _PACKAGE and name in _ON_THE_SERVER for package, name in ancestry(subject)
    )


def _observe_capability(subject: Any, said: Observation) -> Any:
    return CapabilityWatch(said).twin(subject)


def _observe_on_the_server(subject: Any, said: Observation) -> Any:
    return ServerSideWatch(said).twin(subject)


WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = (
    (_is_capability, _observe_capability),
    (_is_on_the_server, _observe_on_the_server),
)
