"""An OTLP receiver on this machine that keeps what it is sent."""

from __future__ import annotations

import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver(ThreadingHTTPServer):
    """Listens on a free port of loopback inside its `with` block.

    Attributes:
        bodies: The path and the body of each request, in the order of their arrival.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[tuple[str, bytes]] = []
        self._thread = Thread(target=self.serve_forever)

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Span]:
        """Return all spans that arrived."""
        return [
            span
            for body in self._sent_to("/v1/traces")
            for group in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def span_names(self) -> list[str]:
        """Return the names of all spans that arrived."""
        return [span.name for span in self.spans()]

    def metrics(self) -> list[Metric]:
        """Return all metrics that arrived, as often as they were sent."""
        return [
            metric
            for body in self._sent_to("/v1/metrics")
            for group in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in group.scope_metrics
            for metric in scope.metrics
        ]

    def logs(self) -> list[LogRecord]:
        """Return all log records that arrived."""
        return [
            record
            for body in self._sent_to("/v1/logs")
            for group in ExportLogsServiceRequest.FromString(body).resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def _sent_to(self, end: str) -> Iterator[bytes]:
        return (body for path, body in self.bodies if path.endswith(end))


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Keep the body and accept it."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.bodies.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
