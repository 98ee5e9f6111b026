"""deepagents' summarization: before a model call, and by the tool that an agent may call.

It leaves the agent's messages as they are and keeps an event that says what stands for the older
ones; what a call sends is made anew from both each time. A pass is what adds to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from lovia_otel import names
from lovia_otel.foreign.calls import watched
from lovia_otel.foreign.handover import Handover, HandoverWatch
from lovia_otel.foreign.langchain import BASE, SummaryWatch, is_a
from lovia_otel.foreign.langchain_calls import SUMMARIZATION
from lovia_otel.foreign.langchain_facts import (
    about_call,
    counter_of,
    measure_by,
    source_of,
    target_of,
    window_of,
)
from lovia_otel.foreign.passes import ObservedPass, current_pass, now
from lovia_otel.foreign.sizes import Measure, size_by
from lovia_otel.foreign.twins import Watch, listening, quietly
from lovia_otel.guard import guarded
from lovia_otel.spans import ArchiveScope, archive_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lovia_otel.foreign.passes import Moment
    from lovia_otel.foreign.twins import Method
    from lovia_otel.observe import Observation, Predicate, Wrapper

_PACKAGE: Final = "deepagents"
_EVENT: Final = "_summarization_event"  # the key of the state that says what was summarised
_OWN_TOOLS: Final = "_lovia_otel_tools"
TRUNCATION: Final = "truncate_args"  # what the stage that cuts arguments of old calls is called


class SummarizationWatch(SummaryWatch, HandoverWatch):
    """Watches middleware that summarises what a model call sends."""

    methods: ClassVar[tuple[str, ...]] = (
        *("wrap_model_call", "awrap_model_call", "_partition_messages", "_truncate_args"),
        *("_create_summary", "_acreate_summary", "_offload_to_backend", "_aoffload_to_backend"),
    )
    base = BASE

    def attributes(self) -> Mapping[str, property]:
        """Let the twin have the name by which agents know the middleware: it goes by exact type."""
        return {"name": property(lambda twin: twin.__wrapped__.name)}

    def watch__partition_messages(self, inner: Method) -> Method:
        """Begin the summary's stage where it is decided; what follows may run in several tasks."""

        def partition(middleware: Any, *args: Any, **kwargs: Any) -> Any:
            observed = current_pass()
            if observed is not None and observed.live:
                observed.last_stage(SUMMARIZATION)
            return inner(middleware, *args, **kwargs)

        return partition

    def watch__truncate_args(self, inner: Method) -> Method:
        """Make the cutting of old arguments a stage, if it cuts something."""

        def truncate(middleware: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            started = now()
            result = inner(middleware, messages, *args, **kwargs)
            _tell_truncation(started, messages, result)
            return result

        return truncate

    def watch__offload_to_backend(self, inner: Method) -> Method:
        """Make the keeping of the summarised messages a write to an archive."""

        def offload(middleware: Any, backend: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            with _archive(backend, messages) as archive:
                path = inner(middleware, backend, messages, *args, **kwargs)
                archive.settle(ref=path)
                return path

        return offload

    def watch__aoffload_to_backend(self, inner: Method) -> Method:
        """Make the async keeping of the summarised messages a write to an archive."""

        async def offload(
            middleware: Any, backend: Any, messages: Any, *args: Any, **kwargs: Any
        ) -> Any:
            with _archive(backend, messages) as archive:
                path = await inner(middleware, backend, messages, *args, **kwargs)
                archive.settle(ref=path)
                return path

        return offload

    def handover(self, middleware: Any, request: Any) -> Handover:
        """Return the passes of one request, each of which starts from what stands for messages."""
        window = window_of(request.model, self._said)

        def begin(view: Sequence[Any] | None, trigger: str) -> ObservedPass:
            about = about_call(
                middleware,
                self._said,
                model=request.model,
                trigger=trigger,
                tokens_target=target_of(_keep(middleware), window),
                per_call=True,
            )
            return ObservedPass(
                _effective(middleware, request) if view is None else view,
                about=about,
                measure=self._measure(middleware, request),
                subject=middleware,
                lazy=True,
                history=request.messages,
            )

        # What earlier summaries left out is no work of this pass: only what has a span by now is.
        return Handover(begin, lambda observed: observed.opened)

    def _measure(self, middleware: Any, request: Any) -> Measure:
        """Count as the middleware does, tools and instructions included."""
        counter = counter_of(middleware, self._said)
        count = getattr(middleware, "_count_tokens", None)
        if count is None or counter is None or self._said.counter is not None:
            return measure_by(counter)
        return size_by(
            lambda messages: count(list(messages), request.system_message, request.tools),
            source_of(counter),
        )


class SummarizationToolWatch(Watch):
    """Watches middleware with a tool by which the agent has itself summarised."""

    methods: ClassVar[tuple[str, ...]] = ("_run_compact", "_arun_compact")
    base = BASE

    def __init__(self, said: Observation) -> None:
        super().__init__()
        self._said = said
        self._engine = SummarizationWatch(said)

    def attributes(self) -> Mapping[str, property]:
        """Let the tool be the twin's own, and what it summarises with be watched too."""
        return {
            "tools": property(_own_tools, _replace_tools),
            "_summarization": property(self._watched_engine, _replace_engine),
        }

    def watch__run_compact(self, inner: Method) -> Method:
        """Make a call of the tool a pass that somebody asked for."""
        return watched(inner, self._begin, _settle_asked)

    watch__arun_compact = watch__run_compact

    def _watched_engine(self, middleware: Any) -> Any:
        return self._engine.twin(vars(middleware)["_summarization"])

    def _begin(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ObservedPass | None:
        if not listening():
            return None
        middleware, runtime = args[0], args[1] if len(args) > 1 else kwargs["runtime"]
        return _AskedPass(middleware, runtime.state, self._said)


class _AskedPass(ObservedPass):
    """The pass of a summary that the agent asked for: it knows what an event does to messages."""

    def __init__(self, middleware: Any, state: Mapping[str, Any], said: Observation) -> None:
        engine: Any = vars(middleware)["_summarization"]
        apply = engine._apply_event_to_messages  # noqa: SLF001 - the only way to the view
        self.view: Callable[[Any], Sequence[Any]] = lambda event: apply(state["messages"], event)
        super().__init__(
            self.view(state.get(_EVENT)),
            about=about_call(middleware, said, model=engine.model, trigger=names.TRIGGER_MANUAL),
            measure=measure_by(counter_of(engine, said)),
            subject=middleware,
        )


def _settle_asked(observed: Any, command: Any) -> None:
    """Settle with the event in the tool's answer. Without one nothing was to do, or it failed."""
    event = command.update.get(_EVENT)
    if event is not None:
        observed.settle(observed.view(event), changed=True, reason=SUMMARIZATION)
    elif observed.folds:
        observed.settle(observed.given, changed=False, outcome=names.FAILED)


def _own_tools(middleware: Any) -> Any:
    """Return the tools of a twin, whose calls reach the twin: the original's reach the original."""
    made = vars(middleware).get(_OWN_TOOLS)
    if made is None:
        make = getattr(middleware, "_create_compact_tool", None)
        made = vars(middleware)["tools"] if make is None else [make()]
        vars(middleware)[_OWN_TOOLS] = made
    return made


def _replace_tools(middleware: Any, tools: Any) -> None:
    vars(middleware)["tools"] = vars(middleware)[_OWN_TOOLS] = tools


def _replace_engine(middleware: Any, engine: Any) -> None:
    vars(middleware)["_summarization"] = engine


def _archive(backend: Any, messages: Sequence[Any]) -> ArchiveScope:
    return archive_scope(store=type(backend).__name__, entries=len(messages))


@guarded
def _tell_truncation(started: Moment, before: Sequence[Any], result: Any) -> None:
    observed, (after, modified) = current_pass(), result
    if observed is None or not modified:
        return
    sizes = observed.measure(before), observed.measure(after)
    with observed.stage(TRUNCATION, tokens_before=sizes[0].tokens, started=started) as stage:
        stage.settle(
            outcome=names.APPLIED, tokens_after=sizes[1].tokens, entries_after=sizes[1].entries
        )


def _effective(middleware: Any, request: Any) -> Sequence[Any]:
    """Return what stands for the messages before this pass, earlier summaries included."""
    find = quietly(request.messages)(middleware._get_effective_messages)  # noqa: SLF001
    found: Sequence[Any] = find(request)
    return found


@quietly(None)
def _keep(middleware: Any) -> Any:
    return middleware._lc_helper.keep  # noqa: SLF001 - the only place


def _observe_summarization(subject: Any, said: Observation) -> Any:
    return SummarizationWatch(said).twin(subject)


def _observe_tool(subject: Any, said: Observation) -> Any:
    return SummarizationToolWatch(said).twin(subject)


WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = (
    (is_a("_DeepAgentsSummarizationMiddleware", _PACKAGE), _observe_summarization),
    (is_a("SummarizationMiddleware", _PACKAGE), _observe_summarization),
    (is_a("SummarizationToolMiddleware", _PACKAGE), _observe_tool),
)
