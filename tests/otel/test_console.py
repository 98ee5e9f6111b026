"""Finished traces are printed as trees."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from lovia_otel import ChatSizes, _console, chat_scope, run_scope, turn_scope, use_providers
from lovia_otel._console import SpanTreePrinter

if TYPE_CHECKING:
    import pytest


def printing(stream: io.StringIO) -> TracerProvider:
    """Make a tracer provider that prints to `stream`."""
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(SpanTreePrinter(stream)))
    return tracers


def test_a_trace_is_printed_when_its_root_ends() -> None:
    """One line a span, indented by depth, with its time and its key numbers; errors are marked."""
    stream = io.StringIO()
    with use_providers(tracer_provider=printing(stream)):
        run = run_scope(agent="a", run_id="r", session_id=None).open()
        with run.active(), turn_scope(index=1):
            with chat_scope(
                provider="p",
                model="gpt",
                purpose="turn",
                agent="a",
                sizes=ChatSizes(100, 60, 200, 40, "bytes"),
            ):
                pass
            with chat_scope(provider="p", model="other", purpose="turn", agent="a") as chat:
                chat.close(ValueError())
        assert stream.getvalue() == ""
        run.settle(outcome="completed")
        run.close()
    lines = [re.sub(r"\d+\.\d ms", "T", line) for line in stream.getvalue().splitlines()]
    assert lines == [
        "invoke_agent a  T  completed",
        "  agent_turn  T",
        "    chat gpt  T  history 100  request 60  saved 40",
        "    ✗ chat other  T  error ValueError",
    ]


def test_what_is_left_is_printed_at_the_end() -> None:
    """A trace whose root never ended is shown as far as it came."""
    stream = io.StringIO()
    tracers = printing(stream)
    with use_providers(tracer_provider=tracers):
        run = run_scope(agent="a", run_id="r", session_id=None).open()
        with run.active(), turn_scope(index=1):
            pass
    tracers.shutdown()
    assert stream.getvalue().startswith("agent_turn")


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces that never end, and endless traces, do not fill the memory."""
    monkeypatch.setattr(_console, "MAX_SPANS", 3)
    monkeypatch.setattr(_console, "MAX_TRACES", 2)
    stream = io.StringIO()
    tracers = printing(stream)
    with use_providers(tracer_provider=tracers):
        for index in range(4):
            run = run_scope(agent=f"a{index}", run_id="r", session_id=None).open()
            for _ in range(5):
                with run.active(), turn_scope(index=1):
                    pass
    tracers.shutdown()
    assert len(stream.getvalue().splitlines()) == 6
