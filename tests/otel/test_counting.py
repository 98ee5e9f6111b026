"""What no receiver takes is counted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from lovia_otel import names
from lovia_otel._counting import CountedLogRecordExporter, CountedSpanExporter
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.otel.conftest import Telemetry

NOBODY = "http://127.0.0.1:9"
_SECONDS = 0.5  # to try for


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that runs during a test."""
    with Receiver() as server:
        yield server


def send_spans(base: str, count: int) -> None:
    """Send some spans to a receiver."""
    exporter = CountedSpanExporter(OTLPSpanExporter(f"{base}/v1/traces", timeout=_SECONDS))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    for _ in range(count):
        provider.get_tracer("test").start_span("work").end()
    provider.shutdown()


def send_records(base: str, count: int) -> None:
    """Send some log records to a receiver."""
    exporter = CountedLogRecordExporter(OTLPLogExporter(f"{base}/v1/logs", timeout=_SECONDS))
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    for _ in range(count):
        provider.get_logger("test").emit(body="work")
    provider.shutdown()


@pytest.mark.parametrize("send", [send_spans, send_records])
def test_what_nobody_takes_is_counted(
    send: object, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    """Each span or record of a batch that a dead receiver was sent counts as lost."""
    assert callable(send)
    with caplog.at_level(logging.CRITICAL, logger="opentelemetry"):
        send(NOBODY, 3)
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 3


@pytest.mark.parametrize("send", [send_spans, send_records])
def test_what_arrives_is_not(send: object, telemetry: Telemetry, receiver: Receiver) -> None:
    """Nothing is lost where somebody listens."""
    assert callable(send)
    send(receiver.url, 3)
    assert len(receiver.spans()) + len(receiver.logs()) == 3
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 0
