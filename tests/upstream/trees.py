"""The finished spans as a tree, for comparing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tests.otel.conftest import Telemetry


def tree(telemetry: Telemetry) -> list[str]:
    """Return the names of all finished spans in the order they began, two spaces a level."""
    spans = sorted(telemetry.exported.get_finished_spans(), key=lambda span: span.start_time or 0)
    known = {_id(span): span for span in spans}
    lines: list[str] = []

    def add(span: ReadableSpan, depth: int) -> None:
        lines.append("  " * depth + span.name)
        for child in spans:
            if child.parent is not None and child.parent.span_id == _id(span):
                assert (child.end_time or 0) <= (span.end_time or 0), f"{child.name} outlives"
                add(child, depth + 1)

    for span in spans:
        if span.parent is None or span.parent.span_id not in known:
            add(span, 0)
    return lines


def facts(telemetry: Telemetry, name: str) -> dict[str, Any]:
    """Return the attributes of the only finished span with this name."""
    (found,) = (span for span in telemetry.exported.get_finished_spans() if span.name == name)
    return dict(found.attributes or {})


def all_facts(telemetry: Telemetry, name: str) -> list[dict[str, Any]]:
    """Return the attributes of every finished span with this name, in the order they began."""
    spans = [span for span in telemetry.exported.get_finished_spans() if span.name == name]
    return [dict(s.attributes or {}) for s in sorted(spans, key=lambda span: span.start_time or 0)]


def _id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id
