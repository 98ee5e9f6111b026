"""A summary written by LangChain's middleware: a stage, a fold, and ``chat`` spans inside.

LangChain tells its callback handlers of each model call. A handler set here for the time of a
summary hears of every call that belongs to it: of any model, of retries and of fallbacks.
"""

from __future__ import annotations

import functools
import types
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import names, neighbours
from lovia_otel.foreign.passes import PassSpent, current_pass
from lovia_otel.foreign.sizes import Measure, Size
from lovia_otel.foreign.twins import quietly
from lovia_otel.guard import guarded
from lovia_otel.spans import ChatScope, chat_scope, fold_scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lovia_otel.foreign.passes import ObservedPass
    from lovia_otel.spans import FoldScope

SUMMARIZATION: Final = "summarization"  # what the stage that writes a summary is called

_heard: ContextVar[Any] = ContextVar("lovia_otel_langchain_calls", default=None)


class Summary:
    """A summary that is being written: :meth:`written` takes its text and returns it."""

    def __init__(self) -> None:
        self.text: Any = None

    def written(self, text: Any) -> Any:
        """Note what was written."""
        self.text = text
        return text


@contextmanager
def summary_of(messages: Sequence[Any], measure: Measure) -> Iterator[Summary]:
    """Record the writing of a summary of ``messages`` as a fold in the pass that is under way."""
    observed, summary = current_pass(), Summary()
    if observed is None or not observed.live:
        yield summary
        return
    observed.last_stage(SUMMARIZATION)
    size = _measured(measure, messages)
    index, observed.folds = observed.folds, observed.folds + 1
    with fold_scope(index=index, tokens=size.tokens, entries=size.entries) as fold:
        with _model_calls(observed, fold) as calls:
            yield summary
        fold.settle(summary_tokens=calls.output_tokens, attempts=calls.count or None)
        observed.tell_summary(lambda: str(summary.text))


@quietly(Size(None, None))
def _measured(measure: Measure, messages: Sequence[Any]) -> Size:
    return measure(messages)


@contextmanager
def _model_calls(observed: ObservedPass, fold: FoldScope) -> Iterator[Calls]:
    """Record each model call inside the ``with`` block, and add what it spent to the pass."""
    calls = Calls(observed, fold)
    token = _heard.set(_handler(calls))
    try:
        with nullcontext() if calls.elsewhere else neighbours.silenced():
            yield calls
    finally:
        _heard.reset(token)
        calls.end()


class Calls:
    """The model calls of one summary: those under way by LangChain's run id, and how many began.

    Where an instrumentation of LangChain makes a span of each call (``elsewhere``), none is made
    here: then only what it spent is added to the pass.
    """

    def __init__(self, observed: ObservedPass, fold: FoldScope) -> None:
        self.count: int = 0
        self.output_tokens: int | None = None  # of the last call that answered
        self.elsewhere: bool = _recorded_elsewhere()
        self._observed = observed
        self._fold = fold
        self._open: dict[Any, ChatScope | None] = {}

    @guarded
    def begin(self, run_id: Any, metadata: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Open the span of a call."""
        self.count += 1
        if self.elsewhere:
            self._open[run_id] = None
            return
        model = metadata.get("ls_model_name") or options.get("model")
        scope = chat_scope(
            provider=str(metadata.get("ls_provider") or names.OTHER),
            model=None if model is None else str(model),
            purpose=names.PURPOSE_SUMMARIZE,
            agent=self._observed.about.agent,
            session_id=self._observed.about.session_id,
            stream=False,
            temperature=metadata.get("ls_temperature"),
            max_tokens=metadata.get("ls_max_tokens"),
        )
        with self._fold.active():  # somebody else's handler may have left a span of its own
            self._open[run_id] = scope.open()

    @guarded
    def finish(self, run_id: Any, result: Any) -> None:
        """End the span of a call with what the provider reported."""
        if run_id not in self._open:
            return
        scope = self._open.pop(run_id)
        try:
            spent = _settle(scope, result)
        finally:
            if scope is not None:
                scope.close()
        if scope is None:
            self._fold.spend(spent.summary_input_tokens, spent.summary_output_tokens)
        self.output_tokens = spent.summary_output_tokens
        self._observed.spend(spent)

    @guarded
    def fail(self, run_id: Any, error: BaseException) -> None:
        """End the span of a call that raised."""
        if run_id not in self._open:
            return
        self._observed.spend(PassSpent(summary_calls=1))
        scope = self._open.pop(run_id)
        if scope is not None:
            scope.close(error)

    def end(self) -> None:
        """End what nobody ended: a cancelled call is not always told of."""
        for scope in self._open.values():
            if scope is not None:
                scope.close()
        self._open.clear()


def _settle(scope: ChatScope | None, result: Any) -> PassSpent:
    message = getattr(result.generations[0][0], "message", None)
    usage = getattr(message, "usage_metadata", None) or {}
    if scope is not None:
        _tell(scope, message, usage)
    return PassSpent(
        summary_calls=1,
        summary_input_tokens=usage.get("input_tokens"),
        summary_output_tokens=usage.get("output_tokens"),
    )


def _tell(scope: ChatScope, message: Any, usage: Mapping[str, Any]) -> None:
    about = getattr(message, "response_metadata", None) or {}
    cached = usage.get("input_token_details") or {}
    scope.settle(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=cached.get("cache_read"),
        cache_write_tokens=cached.get("cache_creation"),
        reasoning_tokens=(usage.get("output_token_details") or {}).get("reasoning"),
        response_model=about.get("model_name"),
        response_id=getattr(message, "id", None),
        finish_reason=about.get("finish_reason") or about.get("stop_reason"),
    )


@quietly(default=False)
def _recorded_elsewhere() -> bool:
    """Tell whether an instrumentation of LangChain listens: it adds itself to every manager."""
    manager = import_module("langchain_core.callbacks").CallbackManager(handlers=[])
    return any(map(neighbours.is_one, (*manager.handlers, *manager.inheritable_handlers)))


@quietly(None)
def _handler(calls: Calls) -> Any:
    made = _handler_class()()
    made.calls = calls
    return made


@functools.cache
def _handler_class() -> type:
    """Make the handler's class, a subclass of LangChain's own, and have LangChain look for it."""
    base = import_module("langchain_core.callbacks").BaseCallbackHandler
    hook = import_module("langchain_core.tracers.context").register_configure_hook
    hook(_heard, inheritable=True)
    members = {
        "run_inline": True,  # in the task of the call, where the stage's span is current
        "on_chat_model_start": _on_chat_model_start,
        "on_llm_start": _on_chat_model_start,
        "on_llm_end": lambda self, response, *, run_id, **_: self.calls.finish(run_id, response),
        "on_llm_error": lambda self, error, *, run_id, **_: self.calls.fail(run_id, error),
    }
    return types.new_class("LoviaCalls", (base,), {}, lambda space: space.update(members))


def _on_chat_model_start(
    self: Any, _serialized: Any, _messages: Any, *, run_id: Any, **told: Any
) -> None:
    self.calls.begin(run_id, told.get("metadata") or {}, told.get("invocation_params") or {})
