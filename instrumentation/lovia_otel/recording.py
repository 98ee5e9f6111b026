"""What an exported trace holds once it is read back: spans as trees, metric points, log events.

``read_recording`` (in :mod:`lovia_otel.otlp_json`) makes these from OTLP JSON lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lovia_otel.errors import RecordingFormatError

Value = object  # a text, number, boolean, None, list of values, or mapping of texts to values


@dataclass(frozen=True)
class SpanLink:
    """A link from one span to another, which is usually in another trace. Ids are hex text."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class SpanEvent:
    """Something that happened during a span; ``time`` in nanoseconds since the epoch."""

    name: str
    time: int
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class SpanRecord:
    """One finished span. Ids are hex text, times nanoseconds since the epoch."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: Literal["unspecified", "internal", "server", "client", "producer", "consumer"]
    start: int
    end: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    status: Literal["unset", "ok", "error"] = "unset"
    status_message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    resource: Mapping[str, Value] = field(default_factory=dict)
    scope: str = ""

    @property
    def seconds(self) -> float:
        """How long the span lasted."""
        return (self.end - self.start) / 1e9


@dataclass(frozen=True)
class MetricPoint:
    """One data point of a metric: the state of one series at ``time``.

    A counter or gauge has a ``value``; a histogram has ``count``, ``sum``, ``minimum``,
    ``maximum``, ``bounds`` and ``buckets`` (one more than bounds).
    """

    name: str
    unit: str
    kind: Literal["sum", "gauge", "histogram"]
    attributes: Mapping[str, Value]
    start: int
    time: int
    cumulative: bool = True
    monotonic: bool = False
    value: float | None = None
    count: int = 0
    sum: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
    bounds: tuple[float, ...] = ()
    buckets: tuple[int, ...] = ()
    resource: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class LogEvent:
    """One log record. ``name`` is the event's name; ids are empty outside of any span."""

    name: str
    time: int
    severity: str
    attributes: Mapping[str, Value] = field(default_factory=dict)
    body: Value = None
    trace_id: str = ""
    span_id: str = ""
    resource: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    """All that one or more files of exported telemetry hold, in the order of the files.

    ``damaged`` lists the lines that could not be read, where they were to be skipped.
    """

    spans: tuple[SpanRecord, ...] = ()
    points: tuple[MetricPoint, ...] = ()
    events: tuple[LogEvent, ...] = ()
    damaged: tuple[RecordingFormatError, ...] = ()

    @cached_property
    def roots(self) -> tuple[SpanRecord, ...]:
        """The spans whose parent is not in the recording, by start time.

        Of spans that name each other as parent, which no tracer writes, the earliest counts.
        """
        known = {_key(span) for span in self.spans}
        roots = [span for span in self.spans if _parent_key(span) not in known]
        reached = {_key(span) for root in roots for _, span in self._descend(root)}
        for span in sorted(self.spans, key=_by_start):
            if _key(span) not in reached:
                roots.append(span)
                reached.update(_key(below) for _, below in self._descend(span))
        return tuple(sorted(roots, key=_by_start))

    def children(self, span: SpanRecord) -> tuple[SpanRecord, ...]:
        """Return the spans directly below ``span``, by start time."""
        return self._children.get(_key(span), ())

    def walk(self) -> Iterator[tuple[int, SpanRecord]]:
        """Yield every span once, each tree from its root down, with its depth (a root's is 0)."""
        for root in self.roots:
            yield from self._descend(root)

    def named(self, name: str) -> tuple[SpanRecord, ...]:
        """Return the spans called ``name``, or whose name begins with it and a space."""
        return tuple(
            span for span in self.spans if span.name == name or span.name.startswith(f"{name} ")
        )

    def metric(self, name: str) -> tuple[MetricPoint, ...]:
        """Return the last point of each series of a metric, since a reader writes them repeatedly.

        Points of delta temporality each count for themselves, and are all returned.
        """
        series: dict[object, MetricPoint] = {}
        for point in self.points:
            if point.name == name:
                series[_series(point, len(series))] = point
        return tuple(series.values())

    @cached_property
    def _children(self) -> dict[tuple[str, str], tuple[SpanRecord, ...]]:
        below: dict[tuple[str, str], list[SpanRecord]] = {}
        for span in sorted(self.spans, key=_by_start):
            parent = _parent_key(span)
            if parent is not None:
                below.setdefault(parent, []).append(span)
        return {parent: tuple(spans) for parent, spans in below.items()}

    def _descend(self, root: SpanRecord) -> Iterator[tuple[int, SpanRecord]]:
        seen = {_key(root)}
        stack = [(0, root)]
        while stack:
            depth, span = stack.pop()
            yield depth, span
            for child in reversed(self.children(span)):
                if _key(child) not in seen:
                    seen.add(_key(child))
                    stack.append((depth + 1, child))


def _key(span: SpanRecord) -> tuple[str, str]:
    return (span.trace_id, span.span_id)


def _parent_key(span: SpanRecord) -> tuple[str, str] | None:
    return None if span.parent_id is None else (span.trace_id, span.parent_id)


def _by_start(span: SpanRecord) -> tuple[int, int]:
    return (span.start, -span.end)


def _series(point: MetricPoint, position: int) -> object:
    if not point.cumulative:
        return position
    return repr((sorted(point.attributes.items()), sorted(point.resource.items())))
