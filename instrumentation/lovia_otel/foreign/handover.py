"""A policy around a model call: it works, hands its view to the call, and may work once more.

Such middleware gets a request and a handler that makes the model call. What it does before it calls
the handler is compaction; the call is not. When the call is rejected (the view was too large after
all), what it does until it tries again is a second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from lovia_otel import names
from lovia_otel.foreign.passes import ObservedPass
from lovia_otel.foreign.twins import Watch, listening
from lovia_otel.guard import guarded

if TYPE_CHECKING:
    from types import TracebackType

    from lovia_otel.foreign.twins import Method

Begin = Callable[[Sequence[Any] | None, str], ObservedPass]


class Handover:
    """The passes of one request; a context manager around the middleware's method.

    Args:
        begin: returns a lazy pass that starts from the messages of a rejected request, or from
            those of the request itself (``None``), for the trigger that is given.
        acted: says of a pass that ends whether it did something; ``None``: compare the messages.
    """

    def __init__(self, begin: Begin, acted: Callable[[ObservedPass], bool | None]) -> None:
        self._begin = begin
        self._acted = acted
        self._pass: ObservedPass | None = None
        self._rejection: BaseException | None = None

    def __enter__(self) -> Self:
        self._start(None, names.TRIGGER_THRESHOLD)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        under_way = self._pass
        if under_way is not None and error is self._rejection and not under_way.opened:
            error = None  # it only let the model's own error pass
        self._end(error)

    def call(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a handler that ends the pass before it makes the model call."""

        def handle(request: Any) -> Any:
            self._hand_over(request)
            try:
                return handler(request)
            except Exception as error:
                self._rejected(request, error)
                raise

        return handle

    def acall(self, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return an async handler that ends the pass before it makes the model call."""

        async def handle(request: Any) -> Any:
            self._hand_over(request)
            try:
                return await handler(request)
            except Exception as error:
                self._rejected(request, error)
                raise

        return handle

    @guarded
    def _start(self, view: Sequence[Any] | None, trigger: str) -> None:
        self._pass = self._begin(view, trigger).__enter__()

    @guarded
    def _end(self, error: BaseException | None) -> None:
        ending, self._pass = self._pass, None
        if ending is not None:
            ending.__exit__(None if error is None else type(error), error, None)

    @guarded
    def _hand_over(self, request: Any) -> None:
        if self._pass is not None:
            self._pass.settle(request.messages, changed=self._acted(self._pass))
            self._end(None)

    @guarded
    def _rejected(self, request: Any, error: BaseException) -> None:
        self._rejection = error
        self._start(request.messages, names.TRIGGER_OVERFLOW)


class HandoverWatch(Watch):
    """Watches middleware that works around a model call."""

    def handover(self, middleware: Any, request: Any) -> Handover:
        """Return the passes of one request."""
        raise NotImplementedError

    def watch_wrap_model_call(self, inner: Method) -> Method:
        """Make what happens around the calls of the handler passes."""

        def wrap(middleware: Any, request: Any, handler: Any) -> Any:
            if not listening():
                return inner(middleware, request, handler)
            with self.handover(middleware, request) as handover:
                return inner(middleware, request, handover.call(handler))

        return wrap

    def watch_awrap_model_call(self, inner: Method) -> Method:
        """Make what happens around the calls of the async handler passes."""

        async def wrap(middleware: Any, request: Any, handler: Any) -> Any:
            if not listening():
                return await inner(middleware, request, handler)
            with self.handover(middleware, request) as handover:
                return await inner(middleware, request, handover.acall(handler))

        return wrap
