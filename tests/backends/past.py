"""Metrics of real runs, told to Prometheus as if they had been made some time ago.

A rate over minutes would need a test of minutes. So the runs are real, and what the SDK has of them
is real; the times under which it is handed over are not.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

from lovia_otel import use_providers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

    from tests.backends.stack import Prometheus

_NS: Final = 1_000_000_000
_KINDS: Final = ("sum", "gauge", "histogram")


class Process:
    """A process that makes telemetry, and reports it when it is told to.

    Args:
        service: The name of its service.
        instance: Its own id; a process that starts anew under an old one resets its counters.
    """

    def __init__(self, service: str, instance: str = "1") -> None:
        resource = Resource({"service.name": service, "service.instance.id": instance})
        self._reader = InMemoryMetricReader()
        self._meters = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count what happens inside the block as the work of this process."""
        with use_providers(meter_provider=self._meters):
            yield

    def report(self, prometheus: Prometheus, ago: float = 0.0) -> None:
        """Tell Prometheus the state of all metrics, as if `ago` seconds had passed since."""
        data = self._reader.get_metrics_data()
        if data is not None and data.resource_metrics:
            request = encode_metrics(data)
            _set_back(request, int((time.time() - ago) * _NS))
            prometheus.take(request.SerializeToString())

    def end(self) -> None:
        """Let go of it."""
        self._meters.shutdown()


def _set_back(request: ExportMetricsServiceRequest, now: int) -> None:
    """Set all times in a request back by as much as makes `now` out of its own, in nanoseconds."""
    for group in request.resource_metrics:
        for scope in group.scope_metrics:
            for metric in scope.metrics:
                _set_back_metric(metric, now)


def _set_back_metric(metric: Metric, now: int) -> None:
    kind = next(kind for kind in _KINDS if metric.HasField(kind))
    for point in getattr(metric, kind).data_points:
        by = point.time_unix_nano - now
        point.time_unix_nano = now
        point.start_time_unix_nano = max(0, point.start_time_unix_nano - by)
        for exemplar in point.exemplars:
            exemplar.time_unix_nano -= by
