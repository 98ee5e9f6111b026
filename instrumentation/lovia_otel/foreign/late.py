"""A span that begins when something happens inside it, and else never was.

A policy that is asked at each model call mostly has nothing to do. Whether it does shows only when
it asks a model, or returns. Until then this stands where its span will be: whoever looks for a
parent there, or writes on it, has the real one opened, at the time at which the work began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry.trace import NonRecordingSpan, Span, get_current_span

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext


class LateSpan(NonRecordingSpan):
    """Stands for a span in a context.

    Args:
        begin: opens the real span, with the context as it was outside, and returns it; ``None``:
            there is none, and what is outside counts. It may be called again.
    """

    def __init__(self, begin: Callable[[], Span | None]) -> None:
        self._outside: Context = otel_context.get_current()
        around = get_current_span(self._outside)
        super().__init__(around.get_span_context())
        self._around = around
        self._begin = begin
        self._beginning = False

    def get_span_context(self) -> SpanContext:
        """Return the context of the real span, which begins now at the latest."""
        return self._real().get_span_context()

    def is_recording(self) -> bool:
        """Tell whether the span would be recorded; that alone does not begin it."""
        return self._around.is_recording() or not self._around.get_span_context().is_valid

    def set_attributes(self, attributes: Any) -> None:
        """Write on the real span."""
        self._real().set_attributes(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        """Write on the real span."""
        self._real().set_attribute(key, value)

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        """Write on the real span."""
        self._real().add_event(name, attributes, timestamp)

    def add_link(self, context: Any, attributes: Any = None) -> None:
        """Write on the real span."""
        self._real().add_link(context, attributes)

    def set_status(self, status: Any, description: str | None = None) -> None:
        """Write on the real span."""
        self._real().set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Any = None,
        timestamp: int | None = None,
        escaped: bool = False,  # noqa: FBT001, FBT002 - the interface's own signature
    ) -> None:
        """Write on the real span."""
        self._real().record_exception(exception, attributes, timestamp, escaped)

    def _real(self) -> Span:
        if self._beginning:  # it looks for its own parent
            return self._around
        self._beginning = True
        token = otel_context.attach(self._outside)
        try:
            return self._begin() or self._around
        finally:
            otel_context.detach(token)
            self._beginning = False
