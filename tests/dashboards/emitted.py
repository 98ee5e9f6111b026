"""What real runs emit, in the words of the backends: series, labels, values, span attributes."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    HistogramDataPoint,
    InMemoryMetricReader,
    MetricsData,
    Sum,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dashboards import naming
from lovia_otel import use_providers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from opentelemetry.sdk.metrics.export import Metric
    from opentelemetry.sdk.trace import ReadableSpan

#: Labels that backends make of the resource: of the service's name and the process's own id.
RESOURCE: Final = frozenset({"job", "instance", "service_name"})


@dataclass
class Emitted:
    """What was emitted.

    Attributes:
        series: By the name of a series, the values that each of its labels has.
        spans: By the first word of a span's name, the values that each of its attributes has.
        count_spans: How many spans there are.
        data: The metrics as the SDK has them.
    """

    series: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    spans: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    count_spans: int = 0
    data: MetricsData | None = None

    def labels(self, series: str) -> frozenset[str]:
        """Return the labels of a series, those of the resource included."""
        return frozenset(self.series[series]) | RESOURCE

    def count_series(self, of: Collection[str] | None = None) -> int:
        """Return how many series all metrics have, or those with these names."""
        return sum(
            len(point.explicit_bounds) + 3 if isinstance(point, HistogramDataPoint) else 1
            for metric in _metrics(self.data)
            if of is None or metric.name in of
            for point in metric.data.data_points
        )

    def attributes(self) -> dict[str, list[Any]]:
        """Return every attribute that any span has, with its values."""
        found: dict[str, list[Any]] = defaultdict(list)
        for attributes in self.spans.values():
            for name, values in attributes.items():
                found[name] += values
        return found


@contextmanager
def recording() -> Iterator[Emitted]:
    """Record what the block emits, readable after it."""
    reader, exporter = InMemoryMetricReader(), InMemorySpanExporter()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    emitted = Emitted()
    with use_providers(tracer_provider=tracers, meter_provider=meters):
        yield emitted
    emitted.data = reader.get_metrics_data()
    for metric in _metrics(emitted.data):
        for name in _names(metric):
            emitted.series[name] = _labels(metric, buckets=name.endswith("_bucket"))
    spans = exporter.get_finished_spans()
    emitted.spans, emitted.count_spans = _attributes(spans), len(spans)


def _metrics(data: MetricsData | None) -> Iterator[Metric]:
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            yield from scope.metrics


def _names(metric: Metric) -> tuple[str, ...]:
    kind: naming.Kind = "histogram"
    if isinstance(metric.data, Sum):
        kind = "counter" if metric.data.is_monotonic else "updown"
    return naming.series_of(metric.name, metric.unit or "", kind)


def _labels(metric: Metric, *, buckets: bool) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = defaultdict(set)
    for point in metric.data.data_points:
        for key, value in (point.attributes or {}).items():
            labels[naming.label(key)].add(str(value))
        if buckets and isinstance(point, HistogramDataPoint):
            labels["le"] |= {f"{bound:g}" for bound in point.explicit_bounds} | {"+Inf"}
    return dict(labels)


def _attributes(spans: Iterable[ReadableSpan]) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        for key, value in (span.attributes or {}).items():
            found[span.name.split()[0]][key].append(value)
    return found
