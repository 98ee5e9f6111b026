"""Printing finished traces as trees, for a terminal. Importing it loads the SDK."""

from __future__ import annotations

import sys
import threading
from typing import IO, TYPE_CHECKING, Final

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import StatusCode

from lovia_otel import names

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SPANS: Final = 10_000  # kept while their root is open; later ones are not printed

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


class SpanTreePrinter(SpanProcessor):
    """Prints each trace as a tree when its root ends, to ``stream`` (by default standard error)."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._waiting: dict[int, list[ReadableSpan]] = {}

    def on_end(self, span: ReadableSpan) -> None:
        """Keep the span until its local root ends; then print them all."""
        trace_id = span.context.trace_id if span.context is not None else 0
        with self._lock:
            waiting = self._waiting.setdefault(trace_id, [])
            if sum(map(len, self._waiting.values())) < MAX_SPANS:
                waiting.append(span)
            if span.parent is not None and not span.parent.is_remote:
                return
            del self._waiting[trace_id]
        text = "".join(f"{line}\n" for line in _lines(waiting))
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
