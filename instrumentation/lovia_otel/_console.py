"""Printing finished traces as trees, for a terminal. Importing it loads the SDK."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Final

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode

from lovia_otel import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

MAX_SPANS: Final = 10_000  # of one trace; later ones are not printed
MAX_TRACES: Final = 1_000  # kept while their root is open; the oldest make room

# What is worth a place on the line, and what it is called there.
_SHOWN: Final = {
    names.RUN_OUTCOME: "",
    names.COMPACTION_OUTCOME: "",
    names.CONTEXT_VIEW: "",
    names.ERROR_TYPE: "error",
    names.CONTEXT_HISTORY_TOKENS: "history",
    names.CONTEXT_REQUEST_TOKENS: "request",
    names.CONTEXT_SAVED_TOKENS: "saved",
    names.COMPACTION_TOKENS_BEFORE: "before",
    names.COMPACTION_TOKENS_AFTER: "after",
    names.COMPACTION_TOKENS_FREED: "freed",
}


class SpanTreePrinter(SpanExporter):
    """Prints each trace as a tree once its root has ended, to ``stream`` (else standard error)."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._waiting: dict[int, list[ReadableSpan]] = {}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Print the traces whose local root is among ``spans``, and keep the rest for later."""
        finished = []
        for span in spans:
            trace_id = span.context.trace_id if span.context is not None else 0
            waiting = self._waiting.setdefault(trace_id, [])
            if len(waiting) < MAX_SPANS:
                waiting.append(span)
            if span.parent is None or span.parent.is_remote:
                finished.append(self._waiting.pop(trace_id))
        while len(self._waiting) > MAX_TRACES:
            del self._waiting[next(iter(self._waiting))]
        for trace in finished:
            self._print(trace)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Print what is left of traces whose root never ended."""
        for trace in self._waiting.values():
            self._print(trace)
        self._waiting.clear()

    def _print(self, spans: list[ReadableSpan]) -> None:
        text = "".join(f"{line}\n" for line in _lines(spans))
        print(text, end="", file=self._stream or sys.stderr, flush=True)


def _lines(spans: list[ReadableSpan]) -> Iterator[str]:
    known = {span.context.span_id for span in spans if span.context is not None}
    below: dict[int, list[ReadableSpan]] = {}  # 0 holds the roots, and those with a lost parent
    for span in sorted(spans, key=lambda span: span.start_time or 0):
        parent = span.parent.span_id if span.parent is not None else 0
        below.setdefault(parent if parent in known else 0, []).append(span)
    stack = [(0, span) for span in reversed(below.get(0, []))]
    while stack:
        depth, span = stack.pop()
        yield f"{'  ' * depth}{_line(span)}"
        if span.context is not None:
            stack.extend(
                (depth + 1, child) for child in reversed(below.get(span.context.span_id, []))
            )


def _line(span: ReadableSpan) -> str:
    milliseconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e6
    attributes = span.attributes or {}
    shown = [
        f"{label} {attributes[key]!s}".strip() for key, label in _SHOWN.items() if key in attributes
    ]
    mark = "✗ " if span.status.status_code is StatusCode.ERROR else ""
    return f"{mark}{span.name}  {milliseconds:.1f} ms  {'  '.join(shown)}".rstrip()
