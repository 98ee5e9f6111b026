"""The life of a scope: open before the work, settle with the outcome, close once."""

from __future__ import annotations

import functools
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, ClassVar, Concatenate, Final, ParamSpec, Self, TypeVar

from opentelemetry import context as otel_context
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, Tracer, set_span_in_context

from lovia_otel import names, providers
from lovia_otel.content import (
    CaptureMode,
    Content,
    as_attribute,
    capture_mode,
    exported,
    message_of,
)
from lovia_otel.facts import Facts, clean
from lovia_otel.failure import failure_of
from lovia_otel.guard import drop, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from contextvars import Token
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.util.types import AnyValue

    from lovia_otel.metrics import Instruments, Picked

# What an operation settled itself says more than the exception that ended it.
_SETTLED_WINS = (names.ERROR_TYPE, names.RUN_OUTCOME, names.COMPACTION_OUTCOME)

P = ParamSpec("P")
S = TypeVar("S", bound="Scope")


def settles(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """Make a method that hands over facts: skipped where nothing is recorded, and guarded."""

    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if not self.live:
            return
        try:
            method(self, *args, **kwargs)
        except Exception:  # noqa: BLE001 - the same boundary as that of `guarded`, one call less
            drop(method.__qualname__)

    functools.update_wrapper(call, method)
    return call


class Scope(ABC):
    """One traced operation: a span around it, and the metrics that come of it.

    Use it as a context manager where the work is one block of one task::

        with turn_scope(index=1) as scope:
            ...
            scope.settle(tool_calls=2)

    or by hand where the work spans the ``yield`` of an async generator, across which no span may be
    held current::

        scope = run_scope(agent="support", run_id="r1", session_id=None).open()
        try:
            with scope.active():
                ...
            yield event
        except BaseException as error:
            scope.close(error)
            raise
        finally:
            scope.close()

    Closing twice does nothing. An exception that leaves the scope makes it an error and goes on;
    ``GeneratorExit`` alone is no error. No failure of telemetry leaves any method of a scope. With
    no SDK installed a scope does nothing.
    """

    _kind: SpanKind = SpanKind.INTERNAL
    _outcome_key: ClassVar[str] = ""  # set to `failed` or `cancelled` if left unsettled
    _has_event: ClassVar[bool] = False  # does closing emit an event that can carry content?

    # Class-level defaults: a scope that stays inert never sets them.
    live: bool = False  # opened, not closed, and somebody listens
    _closed: bool = False
    _error: BaseException | None = None  # what ended it
    _failed: bool = False  # by an error; a cancellation is none
    _span: Span | None = None
    _context: Context | None = None
    _around: Context | None = None  # what was current when it was opened
    _token: Token[Context] | None = None
    _instruments: Instruments | None = None
    _picked: Picked | None = None  # attributes of metrics that were recorded
    _started: int = 0  # nanoseconds since the epoch
    _clock: int = 0  # nanoseconds, monotonic
    _facts: Facts
    _untold: Facts  # those that the span does not have yet
    _content: dict[str, AnyValue]

    # --- what an operation defines ---

    @abstractmethod
    def _name(self) -> str:
        """Return the span's name."""

    @abstractmethod
    def _start(self) -> Mapping[str, object]:
        """Return the facts known before the work, which a sampler sees."""

    def _links(self) -> Sequence[Link]:
        return ()

    def _opened(self) -> None:
        """Record what a metric needs when the work begins: for most operations, nothing."""
        return

    def _context_key(self) -> str | None:
        """Return the key under which the context holds this scope for those inside it, if any."""
        return None

    def _measure(self, seconds: float) -> None:
        """Record the metrics of the finished operation: for some, none."""
        return

    # --- the life of a scope ---

    def open(self) -> Self:
        """Start the span, with the current one as its parent, and return the scope itself."""
        self._open()
        return self

    def backdate(self, started: int, clock: int) -> None:
        """Have a scope that is not yet open begin at these ``time_ns()`` and ``perf_counter_ns()``.

        This is for work of which it turns out only later that there is something to tell.
        """
        self._started, self._clock = started, clock

    @contextmanager
    def active(self) -> Iterator[Self]:
        """Make the span current inside the ``with`` block; it stays open afterwards.

        An exception passes through unnoticed: give it to :meth:`close`.
        """
        token = self._attach()
        try:
            yield self
        finally:
            _detach(token)

    def outside(self) -> AbstractContextManager[None]:
        """Make current inside the ``with`` block what was current when the scope was opened.

        This is for work in the middle of an operation that is not part of it, such as telling
        somebody how it goes.
        """
        return _HERE if self._around is None else _Current(self._around)

    def close(self, error: BaseException | None = None) -> None:
        """End the span and record the metrics; ``error`` is the exception that ended the work."""
        if self._closed:
            return
        self._closed = True
        if not self.live:
            return
        seconds = (time.perf_counter_ns() - self._clock) / 1e9
        self._conclude(error)
        self._report(seconds)
        self.live = False
        self._put_attributes()
        self._end(seconds)

    def __enter__(self) -> Self:
        self._open()
        self._token = self._attach()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _detach(self._token)
        self._token = None
        self.close(error)

    @settles
    def content(
        self,
        *,
        input_messages: Content | None = None,
        output_messages: Content | None = None,
        system_instructions: Content | None = None,
        tool_arguments: Content | None = None,
        tool_result: Content | None = None,
        summary: Content | None = None,
    ) -> None:
        """Offer content: callables without arguments, called only when capture is on.

        Each returns a text or plain JSON data (messages in the shape of the GenAI conventions).
        """
        mode = capture_mode()
        if mode is CaptureMode.NO_CONTENT:
            return
        offered = {
            names.INPUT_MESSAGES: input_messages,
            names.OUTPUT_MESSAGES: output_messages,
            names.SYSTEM_INSTRUCTIONS: system_instructions,
            names.TOOL_CALL_ARGUMENTS: tool_arguments,
            names.TOOL_CALL_RESULT: tool_result,
            names.SUMMARY_TEXT: summary,
        }
        for key, build in offered.items():
            if build is not None:
                self._take_content(key, build, mode)

    # --- for operations ---

    def _note(self, facts: Mapping[str, object]) -> None:
        """Add facts: for the metrics at once, and to the span before it ends."""
        known = clean(facts)
        self._facts.update(known)
        self._untold.update(known)

    def _record(self, metric: str, value: object) -> None:
        """Record one metric with this scope's facts, its exemplar pointing at this span."""
        if self._instruments is not None:
            self._instruments.record(metric, value, self._facts, self._context, self._picked)

    # --- steps, each guarded alone so that one that fails does not take the others with it ---

    @guarded
    def _open(self) -> None:
        if self.live or self._closed:
            return
        tracer = providers.tracer()
        self._instruments = providers.instruments()
        if tracer is None and self._instruments is None and providers.logger() is None:
            return
        self._facts = clean(self._start())
        self._untold, self._content = {}, {}
        self._around = otel_context.get_current()
        if not self._started:
            self._started, self._clock = time.time_ns(), time.perf_counter_ns()
        self.live = True
        if tracer is not None:
            self._start_span(tracer)
        key = self._context_key()
        if key is not None:
            self._context = otel_context.set_value(key, self, self._context)
        self._opened()

    @guarded
    def _start_span(self, tracer: Tracer) -> None:
        self._span = tracer.start_span(
            self._name(),
            kind=self._kind,
            attributes=self._facts,
            links=self._links(),
            start_time=self._started,
        )
        self._context = set_span_in_context(self._span)

    def _attach(self) -> Token[Context] | None:
        try:
            return None if self._context is None else otel_context.attach(self._context)
        except Exception:  # noqa: BLE001 - an application may bring its own context storage
            drop("Scope.active")
            return None

    @guarded
    def _take_content(self, key: str, build: Content, mode: CaptureMode) -> None:
        on_span = mode.on_spans and self._span is not None and self._span.is_recording()
        on_event = mode.on_events and self._has_event
        if not (on_span or on_event):
            return
        value = exported(build)
        if on_event:
            self._content[key] = value
        if on_span:
            self._untold[key] = as_attribute(value)

    @guarded
    def _conclude(self, error: BaseException | None) -> None:
        """Make the span an error where an exception or the settled outcome says so."""
        failure = failure_of(error)
        if failure is not None:
            self._error, self._failed = error, not failure.cancelled
            ended = names.CANCELLED if failure.cancelled else names.FAILED
            known = {self._outcome_key: ended} if self._outcome_key else {}
            settled = {key: self._facts[key] for key in _SETTLED_WINS if key in self._facts}
            self._note({**known, **failure.facts(), **settled})
        elif self._facts.get(self._outcome_key) in {names.FAILED, names.CANCELLED}:
            self._note({names.ERROR_TYPE: self._facts.get(names.ERROR_TYPE, names.OTHER)})
        if names.ERROR_TYPE in self._facts:
            self._mark_error(error if failure is not None else None)

    @guarded
    def _mark_error(self, error: BaseException | None) -> None:
        if self._span is not None:
            description = None if error is None else message_of(error)
            self._span.set_status(StatusCode.ERROR, description)

    @guarded
    def _report(self, seconds: float) -> None:
        self._picked = {}  # no fact changes from here on
        self._measure(seconds)

    @guarded
    def _put_attributes(self) -> None:
        # All at once: each time costs the SDK a lock and a look at everything it is given.
        if self._span is not None and self._untold:
            self._span.set_attributes(self._untold)

    @guarded
    def _end(self, seconds: float) -> None:
        # The end is start plus monotonic time, so that the span lasts as long as the metric says.
        if self._span is not None:
            self._span.end(self._started + int(seconds * 1e9))


class _Current:
    """Makes a context the current one; a generator would cost more, and this runs often."""

    __slots__ = ("_context", "_token")

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._token = otel_context.attach(self._context)

    def __exit__(self, *_: object) -> None:
        otel_context.detach(self._token)


_HERE: Final = nullcontext()


def _detach(token: Token[Context] | None) -> None:
    if token is not None:
        otel_context.detach(token)
