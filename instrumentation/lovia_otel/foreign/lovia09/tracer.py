"""A tracer of the 0.9 line that opens scopes, beside whatever tracer the caller gave."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context

from lovia_otel import names
from lovia_otel.guard import drop, guarded
from lovia_otel.spans import ToolScope, tool_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia_otel.foreign.lovia09.run import Run

_RUN, _TOOL, _HANDOFF = "run", "tool_call", "handoff"  # what that line calls its spans
_RESUMED: Final = "resumed"


class ScopeTracer:
    """Implements that line's ``Tracer``: ``span(name, **attributes)`` is a context manager.

    ``theirs`` is the tracer that the caller gave. It sees what it would see without this one.
    """

    def __init__(self, run: Run, theirs: Any) -> None:
        self.theirs = theirs
        self._run = run

    @contextmanager
    def span(self, name: str, /, **attributes: Any) -> Iterator[_Span]:
        """Open a scope for a span of this name, and the caller's own span."""
        kind = str(getattr(name, "value", name))
        with ExitStack() as stack:
            span = self.theirs.span(name, **attributes) if self.theirs is not None else None
            their_span = stack.enter_context(span) if span is not None else None
            before = otel_context.get_current()
            tool = self._open(kind, attributes)
            try:
                yield _Span(self._run, their_span)
            except BaseException as error:
                self._close(kind, attributes, tool, before, error)
                raise
            self._close(kind, attributes, tool, before, None)

    def _open(self, kind: str, attributes: dict[str, Any]) -> ToolScope | None:
        try:
            if kind == _RUN:
                self._run.begin(str(attributes.get("agent", "")), attributes.get("run_id"))
            elif kind == _TOOL:
                return self._open_tool(attributes)
        except Exception:  # noqa: BLE001 - attributes of any version
            drop("ScopeTracer.open")
        return None

    def _open_tool(self, attributes: dict[str, Any]) -> ToolScope:
        name, agent = str(attributes.get("name", "")), self._run.agent
        scope = tool_scope(tool=name, call_id=attributes.get("call_id"), agent=agent).open()
        target = name.removeprefix(names.HANDOFF_TOOL_PREFIX)
        if target != name:
            scope.handoff(source=agent or "", target=target, pending=True)
        with scope.active():
            inside = otel_context.get_current()
        otel_context.attach(inside)
        return scope

    @guarded
    def _close(
        self,
        kind: str,
        attributes: dict[str, Any],
        tool: ToolScope | None,
        before: otel_context.Context,
        error: BaseException | None,
    ) -> None:
        if tool is not None:
            tool.close(error)
            otel_context.attach(before)
        elif kind == _RUN:
            self._run.end(error)
            otel_context.attach(before)
        elif kind == _HANDOFF and error is None:
            self._run.hand_over(
                str(attributes.get("from_agent", "")), str(attributes.get("to_agent", ""))
            )


class _Span:
    """That line's ``Span``: what it is told goes to the caller's own span as well."""

    def __init__(self, run: Run, theirs: Any) -> None:
        self._run = run
        self._theirs = theirs

    def set_attribute(self, key: str, value: object) -> None:
        """Note that the run was resumed; other attributes are known from elsewhere."""
        if key == _RESUMED and value is True:
            self._run.resumed()
        if self._theirs is not None:
            self._theirs.set_attribute(key, value)

    def record_exception(self, exc: BaseException) -> None:
        """Hand the exception on; a scope sees the one that leaves it."""
        if self._theirs is not None:
            self._theirs.record_exception(exc)
