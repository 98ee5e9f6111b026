"""One compaction by code that is not ours, recorded as a pass.

A wrapper around a foreign policy does nothing but this::

    with ObservedPass(messages, about=PassAbout(policy="Trimmer"), measure=measure) as observed:
        view = inner(messages)
        observed.settle(view)
    return view

What the policy made of the messages is told from their sizes before and after: larger is
``inflated``, the same messages are ``noop``. An exception makes the pass ``failed`` or
``cancelled``, and goes on. A policy that was asked and had nothing to do leaves no span; one that
did something, and be it in vain, does, and its model calls are below it. Without an SDK nothing is
measured at all.
"""

from __future__ import annotations

import operator
import secrets
import time
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from opentelemetry import context as otel_context
from opentelemetry.trace import Span, get_current_span, set_span_in_context

from lovia_otel import names, providers, recorded
from lovia_otel.facts import clean
from lovia_otel.foreign.about import PassAbout, PassSpent
from lovia_otel.foreign.late import LateSpan
from lovia_otel.foreign.sizes import Measure, Size, safely, same, size_from_bytes
from lovia_otel.guard import guarded
from lovia_otel.recorded import view_key
from lovia_otel.spans import PassScope, StageScope, pass_scope, stage_scope
from lovia_otel.spans.compaction import within_pass
from lovia_otel.spans.run import current_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextvars import Token
    from types import TracebackType

    from lovia_otel.content import Content


__all__ = ["Moment", "ObservedPass", "PassAbout", "PassSpent", "current_pass", "now"]

Moment = tuple[int, int]  # time_ns() and perf_counter_ns()

_NOTHING_SPENT: Final = PassSpent()
_UNKNOWN: Final = Size(None, None)
_current: ContextVar[ObservedPass | None] = ContextVar("lovia_otel_observed_pass", default=None)


def current_pass() -> ObservedPass | None:
    """Return the innermost observed pass that is under way here."""
    return _current.get()


def now() -> Moment:
    """Return the time at which something begins of which it may turn out that it is a stage."""
    return (time.time_ns(), time.perf_counter_ns())


class ObservedPass:
    """One call of a foreign policy, as a context manager around it.

    Args:
        before: the messages that the policy gets.
        about: what is known beforehand.
        measure: returns the size of a list of messages; where it fails, bytes are counted.
        subject: the policy. A pass inside a pass of the same subject (one that calls itself, or
            is observed twice) records nothing.
        lazy: only a :meth:`stage`, a change or a failure makes a span: for policies whose stages
            are in reach. Else a span of anybody's that begins while the policy works does, too.
        history: the messages as if nothing was ever compacted, for a policy that starts from an
            earlier view of them; ``None``: ``before``.
        started: :func:`now` of an earlier time at which a lazy pass began.
    """

    def __init__(
        self,
        before: Sequence[Any],
        *,
        about: PassAbout,
        measure: Measure = size_from_bytes,
        subject: object = None,
        lazy: bool = False,
        history: Sequence[Any] | None = None,
        started: Moment | None = None,
    ) -> None:
        self.about = about
        self.live: bool = False  # under way, and somebody listens
        self.folds = 0  # of summaries, so far
        self.given = before
        self.measure: Measure = safely(measure)
        self._subject = subject
        self._lazy = lazy
        self._whole = history
        self._started = started
        self._outer = _current.get()
        self._before: tuple[Any, ...] = ()
        self._size = self._after = _UNKNOWN
        self.history: Size = _UNKNOWN
        self._scope: PassScope | None = None
        self._unopened: PassScope | None = None
        self._stages: list[str] = []
        self._active = ExitStack()
        self._token: Token[ObservedPass | None] | None = None
        self._last = ExitStack()  # the stage that lasts until the pass is settled
        self._last_stage: StageScope | None = None
        self._spent = _NOTHING_SPENT
        self._settled: dict[str, Any] = {}
        self._returned = self._paused = False

    def __enter__(self) -> Self:
        if self._paused:
            self._paused = False
            self._step_in()
            return self
        self.live = providers.recording() and not self._is_nested()
        if self.live:
            self._started = self._started or now()
            self._note_before()
            self._step_in()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.live:
            return
        if self._paused:
            self._step_out()
            return
        self._last.__exit__(kind, error, traceback)
        self._step_out()
        self._conclude(error)
        self.live = False

    def pause(self) -> Self:
        """Step out of the pass, which ends with the ``with`` block that it is entered by again.

        For a method that returns something to wait for: the work is done there, perhaps in
        another task.
        """
        self._paused = True
        return self

    def concerns(self, subject: object) -> bool:
        """Is this a pass of ``subject`` that is under way?"""
        return self.live and self._subject is subject

    @contextmanager
    def stage(
        self, name: str, *, tokens_before: int | None = None, started: Moment | None = None
    ) -> Iterator[StageScope]:
        """Open a stage's span inside the pass; settle it, or leave it to tell of an exception.

        ``started`` is :func:`now` of an earlier time, at which the stage began.
        """
        scope = stage_scope(stage=name, index=len(self._stages), tokens_before=tokens_before)
        self._stages.append(name)
        if self._lazy and tokens_before is not None and self._scope is None:
            self._size = replace(self._size, tokens=tokens_before)  # the policy's own count
        if started is not None:
            scope.backdate(*started)
        if not self.live:
            yield scope
            return
        self._open()
        with ExitStack() as current:
            if self._scope is not None and self._lazy:
                current.enter_context(self._scope.active())
            yield current.enter_context(scope)

    def last_stage(self, name: str) -> None:
        """Open a stage that lasts until the pass is settled, and ends with the pass's own size."""
        if self._last_stage is None:
            stage = self.stage(name, tokens_before=self._size.tokens)
            self._last_stage = self._last.enter_context(stage)

    def spend(self, spent: PassSpent) -> None:
        """Add what a summary call spent; it counts whatever becomes of the pass."""
        self._spent += spent

    def tell_summary(self, summary: Content) -> None:
        """Offer the new summary's text, which is built only where content may leave."""
        if self._scope is not None:
            self._scope.content(summary=summary)

    @guarded
    def settle(
        self,
        after: Sequence[Any],
        *,
        changed: bool | None = None,
        reason: str | None = None,
        spent: PassSpent = _NOTHING_SPENT,
        summary: Content | None = None,
        outcome: str | None = None,
        sizes: tuple[Size, Size] | None = None,
    ) -> None:
        """Hand over the messages that the policy returned.

        ``changed`` says whether it did something in this call; by default the messages are
        compared. ``reason`` names what acted. ``summary`` builds the new summary's text, which is
        called only where content may leave. ``outcome`` and ``sizes`` (before and after) are what
        the policy says itself; by default the sizes are measured and the outcome follows.
        """
        if not self.live:
            return
        if changed is None:
            changed = not same(self._before, after)
        if sizes is not None:
            self._size, self._after = sizes
        else:
            self._after = self._size if self._is_given(after) else self._request(after)
        told = outcome is not None
        if outcome is None:
            larger = (self._size.minus(self._after) or 0) < 0
            outcome = names.NOOP if not changed else names.INFLATED if larger else names.COMPACTED
        self._settled = {"outcome": outcome, "reason": reason}
        self._returned = True
        self._spent += spent
        recorded.views.add(view_key(self._before, after))
        if changed or told:
            self._open()
        if self._last_stage is not None:
            self._settle_last_stage(self._last_stage, changed=changed)
        if summary is not None:
            self.tell_summary(summary)

    @property
    def opened(self) -> bool:
        """Has the pass a span by now?"""
        return self._scope is not None

    # --- steps ---

    @guarded
    def _step_in(self) -> None:
        if self.live:
            self._token = _current.set(self)
            if not self._lazy:
                self._active.enter_context(self._current_in(self._scope or self._made()))

    @guarded
    def _step_out(self) -> None:
        self._active.close()
        if self._token is not None:
            _current.reset(self._token)
            self._token = None

    def _is_nested(self) -> bool:
        outer = self._outer
        while outer is not None and self._subject is not None:
            if outer.live and outer._subject is self._subject:  # noqa: SLF001 - one of ours
                return True
            outer = outer._outer  # noqa: SLF001 - likewise
        return False

    @guarded
    def _note_before(self) -> None:
        self._before = tuple(self.given)  # the policy may edit the list itself
        self._size = self._after = self._request(self._before)
        self.history = self._size if self._whole is None else self._request(self._whole)

    def _request(self, messages: Sequence[Any]) -> Size:
        """Measure the request that messages make, with what goes beside them."""
        size = self.measure(messages)
        if size.tokens is None:
            return size
        return replace(size, tokens=size.tokens + self.about.fixed_tokens)

    def _is_given(self, messages: Sequence[Any]) -> bool:
        """Are these the very objects that the policy was given? Then nobody need count again."""
        given = self._before
        return len(given) == len(messages) and all(map(operator.is_, given, messages))

    def _settle_last_stage(self, stage: StageScope, *, changed: bool) -> None:
        stage.settle(
            outcome=names.APPLIED if changed else names.NOOP,
            tokens_after=self._after.tokens,
            entries_after=self._after.entries,
        )
        self._last.close()

    @contextmanager
    def _current_in(self, scope: PassScope) -> Iterator[None]:
        """Have what begins in the block below the pass, which begins with it if it has not yet."""
        span = LateSpan(self._begin)
        token = otel_context.attach(within_pass(scope, set_span_in_context(span)))
        try:
            yield
        finally:
            otel_context.detach(token)

    def _begin(self) -> Span | None:
        """Return the pass's span, which begins now at the latest; none when it is over."""
        if self.live:
            self._open()
        if self._scope is None:
            return None
        with self._scope.active():
            return get_current_span()

    @guarded
    def _open(self) -> None:
        if self._scope is None:
            self._scope = self._made()
            self._scope.backdate(*(self._started or now()))
            self._scope.open()

    def _made(self) -> PassScope:
        if self._unopened is None:
            self._unopened = self._new_scope()
        return self._unopened

    def _new_scope(self) -> PassScope:
        about = self.about
        return pass_scope(
            policy=about.policy,
            trigger=about.trigger,
            pass_id=secrets.token_hex(8),
            agent=about.agent,
            session_id=about.session_id,
            model=about.model,
            provider=about.provider,
            tokens_before=self._size.tokens,
            entries_before=self._size.entries,
            tokens_target=about.tokens_target,
            window_tokens=about.window_tokens,
            history_tokens=self.history.tokens if about.per_call else None,
            tokens_source=self._size.source,
        )

    @guarded
    def _conclude(self, error: BaseException | None) -> None:
        if error is not None or any(vars(self._spent).values()):
            self._open()
        if error is not None:
            self._settled.pop("outcome", None)
        elif not self._settled:
            self._settled["outcome"] = names.NOOP
        if self._scope is not None:
            self._scope.resize(
                tokens_before=self._size.tokens,
                tokens_source=self._size.source,
                history_tokens=self.history.tokens if self.about.per_call else None,
            )
            self._scope.settle(
                **self._settled,
                **vars(self._spent),
                tokens_after=self._after.tokens,
                entries_after=self._after.entries,
                tokens_freed=self._size.minus(self._after),
                stages=self._stages,
            )
            self._scope.close(error)
        if error is None and self._returned:
            self._measure_call()

    @guarded
    def _measure_call(self) -> None:
        """Record what a model call is about to send, and by how much that grew."""
        instruments = providers.instruments()
        if instruments is None or (self.about.in_runtime and current_run() is not None):
            return
        about, after = self.about, self._after.tokens
        before, history = self._size.tokens, self.history.tokens
        if before is None or after is None or history is None:
            return
        facts = clean(
            {
                names.AGENT_NAME: about.agent,
                names.REQUEST_MODEL: about.model,
                names.TOKENS_SOURCE: self._after.source,
            }
        )
        measured: dict[str, float] = {}
        if after > before:
            measured[names.METRIC_INFLATED_TOKENS] = after - before
        if about.per_call:
            measured[names.METRIC_HISTORY_SIZE] = history
            measured[names.METRIC_REQUEST_SIZE] = after
        if about.per_call and about.window_tokens:
            measured[names.METRIC_WINDOW_UTILIZATION] = after / about.window_tokens
            measured[names.METRIC_SAVED_TOKENS] = min(history, about.window_tokens) - after
        for metric, value in measured.items():
            instruments.record(metric, value, facts)
