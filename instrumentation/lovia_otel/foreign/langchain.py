"""LangChain's ``SummarizationMiddleware`` and ``ContextEditingMiddleware``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lovia_otel import names
from lovia_otel._proxy import stand_in
from lovia_otel.foreign.calls import watched
from lovia_otel.foreign.handover import Handover, HandoverWatch
from lovia_otel.foreign.langchain_calls import SUMMARIZATION, summary_of
from lovia_otel.foreign.langchain_facts import (
    APPROXIMATE,
    about_call,
    counter_of,
    measure_by,
    target_of,
    trigger_of,
    window_of,
)
from lovia_otel.foreign.passes import Moment, ObservedPass, current_pass, now
from lovia_otel.foreign.sizes import Measure, same
from lovia_otel.foreign.twins import Watch, ancestry, listening
from lovia_otel.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia_otel.foreign.twins import Method
    from lovia_otel.observe import Observation, Predicate, Wrapper

_PACKAGE: Final = "langchain"
BASE: Final = "AgentMiddleware"
_REMOVE_ALL: Final = "__remove_all__"  # the id by which a state update drops all messages


class SummaryWatch(Watch):
    """Watches how middleware writes summaries."""

    def __init__(self, said: Observation) -> None:
        super().__init__()
        self._said = said

    def watch__create_summary(self, inner: Method) -> Method:
        """Make the writing of a summary a fold inside a stage."""

        def create(middleware: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            with summary_of(messages, measure_by(counter_of(middleware, self._said))) as summary:
                return summary.written(inner(middleware, messages, *args, **kwargs))

        return create

    def watch__acreate_summary(self, inner: Method) -> Method:
        """Make the async writing of a summary a fold inside a stage."""

        async def create(middleware: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            with summary_of(messages, measure_by(counter_of(middleware, self._said))) as summary:
                return summary.written(await inner(middleware, messages, *args, **kwargs))

        return create


class SummarizationWatch(SummaryWatch):
    """Watches middleware that rewrites the agent's messages before a model call."""

    methods: ClassVar[tuple[str, ...]] = (
        "before_model",
        "abefore_model",
        "_create_summary",
        "_acreate_summary",
    )
    base = BASE

    def watch_before_model(self, inner: Method) -> Method:
        """Make the step before a model call a pass."""
        return watched(inner, self._begin, _settle_update)

    watch_abefore_model = watch_before_model

    def _begin(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ObservedPass | None:
        if not listening():
            return None
        middleware, state = args[0], args[1] if len(args) > 1 else kwargs["state"]
        window = window_of(middleware.model, self._said)
        about = about_call(
            middleware,
            self._said,
            model=middleware.model,
            trigger=trigger_of(getattr(middleware, "trigger", None)),
            tokens_target=target_of(getattr(middleware, "keep", None), window),
        )
        return ObservedPass(
            state["messages"],
            about=about,
            measure=measure_by(counter_of(middleware, self._said)),
            subject=middleware,
            lazy=True,
        )


class ContextEditingWatch(HandoverWatch):
    """Watches middleware that edits the messages of one model call."""

    methods: ClassVar[tuple[str, ...]] = ("wrap_model_call", "awrap_model_call")
    base = BASE

    def __init__(self, said: Observation) -> None:
        super().__init__()
        self._said = said

    def attributes(self) -> Mapping[str, property]:
        """Let the middleware find its edits as stages while it edits, and as they are otherwise."""

        def edits(middleware: Any) -> Any:
            found = vars(middleware)["edits"]
            observed = current_pass()
            if observed is None or not observed.concerns(middleware):
                return found
            return [stand_in(edit, lambda edit: {"apply": _staged(edit)}) for edit in found]

        def replace(middleware: Any, edits: Any) -> None:
            vars(middleware)["edits"] = edits

        return {"edits": property(edits, replace)}

    def handover(self, middleware: Any, request: Any) -> Handover:
        """Return the passes of one request, each of which starts from all messages."""

        def begin(view: Sequence[Any] | None, trigger: str) -> ObservedPass:
            about = about_call(
                middleware, self._said, model=request.model, trigger=trigger, per_call=True
            )
            measure = self._measure(middleware, request)
            return ObservedPass(
                request.messages if view is None else view,
                about=about,
                measure=measure,
                subject=middleware,
                lazy=True,
            )

        return Handover(begin, lambda observed: True if observed.opened else None)

    def _measure(self, middleware: Any, request: Any) -> Measure:
        counter = counter_of(middleware, self._said)
        if counter is None and getattr(middleware, "token_count_method", None) == "model":
            counter = request.model.get_num_tokens_from_messages
        if counter is None:
            counter = getattr(sys.modules.get("langchain_core.messages.utils"), APPROXIMATE, None)
        return measure_by(counter)


def _settle_update(observed: ObservedPass, update: Any) -> None:
    """Settle a pass with the state update that it returned; ``None`` is no update."""
    messages = None if update is None else update.get("messages")
    if not messages or getattr(messages[0], "id", None) != _REMOVE_ALL:
        return
    observed.settle(list(messages[1:]), reason=SUMMARIZATION)


def _staged(edit: Any) -> Method:
    """Return an edit's ``apply`` that tells of itself as a stage, if it did something or failed."""
    name = type(edit).__name__

    def apply(messages: Any, *args: Any, **kwargs: Any) -> Any:
        observed = current_pass()
        if observed is None:
            return edit.apply(messages, *args, **kwargs)
        started, before = now(), list(messages)
        try:
            result = edit.apply(messages, *args, **kwargs)
        except BaseException:
            with observed.stage(name, started=started):
                raise
        _tell_stage(observed, name, started, before, messages)
        return result

    return apply


@guarded
def _tell_stage(
    observed: ObservedPass,
    name: str,
    started: Moment,
    before: Sequence[Any],
    after: Sequence[Any],
) -> None:
    if same(before, after):
        return
    sizes = observed.measure(before), observed.measure(after)
    with observed.stage(name, tokens_before=sizes[0].tokens, started=started) as stage:
        stage.settle(
            outcome=names.APPLIED, tokens_after=sizes[1].tokens, entries_after=sizes[1].entries
        )


def _observe_summarization(subject: Any, said: Observation) -> Any:
    return SummarizationWatch(said).twin(subject)


def _observe_editing(subject: Any, said: Observation) -> Any:
    return ContextEditingWatch(said).twin(subject)


def is_a(name: str, package: str = _PACKAGE) -> Predicate:
    """Return the predicate for objects with a class of this name, of this package, in their MRO."""
    return lambda subject: (package, name) in ancestry(subject)


WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = (
    (is_a("SummarizationMiddleware"), _observe_summarization),
    (is_a("ContextEditingMiddleware"), _observe_editing),
)
