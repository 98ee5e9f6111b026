"""Setting telemetry up: destinations, repetition, ending, and what goes wrong."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource

from lovia_otel import (
    ConfigurationError,
    MissingSdkError,
    configure,
    logs,
    names,
    providers,
    read_recording,
    run_scope,
    tool_scope,
    turn_scope,
)
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start from an environment without any `OTEL_` variable."""
    for variable in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(variable)


class Receiver:
    """A small OTLP/HTTP receiver that keeps what it was sent, by path."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.bodies.setdefault(self.path, []).append(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run an OTLP receiver on a free port."""
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def work() -> None:
    """Make a little telemetry of each kind."""
    with run_scope(agent="a", run_id="r", session_id=None) as run:
        with turn_scope(index=1):
            logs.agent_handoff(source="a", target="b")
        run.settle(outcome="completed")


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**clean, **environment},
        cwd=REPO / "instrumentation",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


# --- destinations ---


@pytest.mark.parametrize("slash", ["", "/"])
def test_all_three_signals_reach_the_receiver(receiver: Receiver, slash: str) -> None:
    """Each signal is posted to its path below the endpoint, and decodes as OTLP."""
    with configure(f"{receiver.url}{slash}", "demo", set_global=False):
        work()
    assert sorted(receiver.bodies) == ["/v1/logs", "/v1/metrics", "/v1/traces"]
    traces = ExportTraceServiceRequest.FromString(receiver.bodies["/v1/traces"][0])
    (resource,) = traces.resource_spans
    spans = [span.name for span in resource.scope_spans[0].spans]
    assert spans == ["agent_turn", "invoke_agent a"]
    service = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
    assert service["service.name"] == "demo"
    metrics = ExportMetricsServiceRequest.FromString(receiver.bodies["/v1/metrics"][0])
    found = {m.name for m in metrics.resource_metrics[0].scope_metrics[0].metrics}
    assert found == {names.METRIC_RUN_DURATION, names.METRIC_RUNS_ACTIVE}
    events = ExportLogsServiceRequest.FromString(receiver.bodies["/v1/logs"][0])
    (record,) = events.resource_logs[0].scope_logs[0].log_records
    assert record.event_name == names.EVENT_AGENT_HANDOFF


def test_the_environment_names_the_endpoint(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments the standard variables decide, one of them that metrics stay here."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-variable")
    with configure(set_global=False):
        work()
    assert sorted(receiver.bodies) == ["/v1/logs", "/v1/traces"]
    assert b"from-variable" in receiver.bodies["/v1/traces"][0]


def test_a_file_and_a_receiver_get_the_same(receiver: Receiver, tmp_path: Path) -> None:
    """Destinations add up."""
    file = tmp_path / "new" / "folder" / "trace.jsonl"
    with configure(receiver.url, file=file, set_global=False):
        work()
    assert len(read_recording(file).spans) == 2
    assert "/v1/traces" in receiver.bodies


def test_a_recording_is_appended_to_and_private(tmp_path: Path) -> None:
    """A second configuration adds to the file, which only its owner can read."""
    file = tmp_path / "trace.jsonl"
    for _ in range(2):
        with configure(file=file, set_global=False):
            work()
    assert len(read_recording(file).spans) == 4
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_console_shows_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """A finished trace is printed on standard error by the end at the latest."""
    with configure(console=True, set_global=False):
        work()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line.split("  T")[0].strip().split("  ")[0] for line in captured.err.splitlines()] == [
        "invoke_agent a",
        "agent_turn",
    ]


def test_flush_sends_what_is_waiting(tmp_path: Path) -> None:
    """After a flush everything so far is in the file, and more can follow."""
    file = tmp_path / "trace.jsonl"
    with configure(file=file, set_global=False) as handle:
        work()
        assert handle.flush()
        assert len(read_recording(file).spans) == 2
        assert read_recording(file).metric(names.METRIC_RUN_DURATION)[0].count == 1
        work()
    recording = read_recording(file)
    assert len(recording.spans) == 4
    assert recording.metric(names.METRIC_RUN_DURATION)[0].count == 2
    assert handle.flush()


def test_resource_attributes_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments and the standard variable both add to the resource; an argument wins."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=infra,region=eu")
    file = tmp_path / "trace.jsonl"
    with configure(file=file, resource_attributes={"region": "us", "shard": 3}, set_global=False):
        work()
    resource = read_recording(file).spans[0].resource
    assert (resource["team"], resource["region"], resource["shard"]) == ("infra", "us", 3)


def test_content_settings_hold_for_the_configuration(tmp_path: Path) -> None:
    """What was chosen about content applies while the configuration lasts, and no longer."""
    file = tmp_path / "trace.jsonl"
    hide: dict[str, Any] = {
        "capture_content": True,
        "redact": lambda text: text.replace("secret", "[…]"),
    }
    for name, settings in (("t", hide), ("u", {})):
        with (
            configure(file=file, set_global=False, **settings),
            tool_scope(tool=name, call_id=None, agent=None) as tool,
        ):
            tool.content(tool_result=lambda: "a secret")
    results = {span.name: span.attributes for span in read_recording(file).spans}
    assert results["execute_tool t"][names.TOOL_CALL_RESULT] == "a […]"
    assert names.TOOL_CALL_RESULT not in results["execute_tool u"]


def test_a_disabled_sdk_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard switch turns everything off."""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    file = tmp_path / "trace.jsonl"
    with configure(file=file, set_global=False):
        work()
    assert file.read_bytes() == b""


# --- calling again ---


def test_the_same_arguments_give_the_same_handle(tmp_path: Path) -> None:
    """A library and its application may both configure."""
    with configure(file=tmp_path / "x", set_global=False) as first:
        assert configure(file=str(tmp_path / "x"), set_global=False) is first
    with configure(file=tmp_path / "x", set_global=False) as again:
        assert again is not first


def test_other_arguments_take_over(tmp_path: Path) -> None:
    """What was set up before is flushed and ended, and telemetry goes to the new place."""
    first = configure(file=tmp_path / "a", set_global=False)
    work()
    with configure(file=tmp_path / "b", set_global=False):
        assert first.ended
        work()
    assert len(read_recording(tmp_path / "a").spans) == 2
    assert len(read_recording(tmp_path / "b").spans) == 2


def test_ending_twice_ends_once(tmp_path: Path) -> None:
    """A second shutdown does nothing, and telemetry afterwards goes nowhere."""
    before = providers.tracer()
    handle = configure(file=tmp_path / "x", set_global=False)
    handle.shutdown()
    handle.shutdown()
    assert handle.ended
    assert providers.tracer() is before
    work()
    assert (tmp_path / "x").read_bytes() == b""


# --- what goes wrong ---


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A folder in the way is an error with a hint, before anything is set up."""
    before = providers.tracer()
    with pytest.raises(ConfigurationError, match="cannot write telemetry to") as caught:
        configure(file=tmp_path, set_global=False)
    assert "file" in caught.value.hint
    assert providers.tracer() is before


def test_a_missing_exporter_is_named() -> None:
    """A protocol whose exporter is not installed says what to install."""
    with pytest.raises(MissingSdkError, match="opentelemetry-exporter-otlp-proto-grpc"):
        configure("http://localhost:4317", protocol="grpc", set_global=False)


def test_a_dead_receiver_costs_neither_the_run_nor_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is not slowed, the file is complete, and the end comes within its time."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")  # it tries again after one
    file = tmp_path / "trace.jsonl"
    handle = configure("http://127.0.0.1:9", file=file, set_global=False)
    before = time.monotonic()
    work()
    assert time.monotonic() - before < 1
    handle.shutdown(seconds=0.5)
    assert time.monotonic() - before < 3
    recording = read_recording(file)
    assert len(recording.spans) == 2
    assert recording.metric(names.METRIC_RUN_DURATION)
    assert len(recording.events) == 1
    assert "within 0.5 seconds" in caplog.text


# --- in a process of its own ---


def test_telemetry_is_flushed_when_the_process_ends(tmp_path: Path) -> None:
    """An application that never ends its telemetry loses none of it."""
    file = tmp_path / "trace.jsonl"
    done = run_python(
        f"""
from lovia_otel import configure, run_scope
configure(file={str(file)!r})
with run_scope(agent="a", run_id="r", session_id=None):
    pass
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    recording = read_recording(file)
    assert [span.name for span in recording.spans] == ["invoke_agent a"]
    assert recording.metric(names.METRIC_RUN_DURATION)


def test_the_providers_become_the_process_wide_ones_once(tmp_path: Path) -> None:
    """Other instrumentations use the first configuration, this package follows the latest."""
    done = run_python(
        f"""
from opentelemetry import trace
from lovia_otel import configure, read_recording, turn_scope
first, second = {str(tmp_path / "a")!r}, {str(tmp_path / "b")!r}
configure(file=first)
with trace.get_tracer("app").start_as_current_span("theirs"):
    with turn_scope(index=1):
        pass
configure(file=second)
with turn_scope(index=2):
    pass
configure(file=first, service_name="last").shutdown()
print([span.name for span in read_recording(first).spans])
print([span.name for span in read_recording(second).spans])
"""
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["['agent_turn', 'theirs']", "['agent_turn']"]


def test_an_sdk_of_the_application_stays_in_force(tmp_path: Path) -> None:
    """What the application has set up itself is neither replaced nor complained about."""
    done = run_python(
        f"""
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
own = TracerProvider()
trace.set_tracer_provider(own)
from lovia_otel import configure, read_recording, turn_scope
with configure(file={str(tmp_path / "a")!r}):
    assert trace.get_tracer_provider() is own
    with turn_scope(index=1):
        pass
print(len(read_recording({str(tmp_path / "a")!r}).spans))
"""
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_telemetry_set_up_later_is_used_by_scopes_that_come_after(tmp_path: Path) -> None:
    """A library may be imported and used before the application installs its SDK."""
    done = run_python(
        """
from opentelemetry import trace
from lovia_otel import turn_scope
with turn_scope(index=0):
    pass
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
seen, tracers = InMemorySpanExporter(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(seen))
trace.set_tracer_provider(tracers)
with turn_scope(index=1):
    pass
print([dict(span.attributes) for span in seen.get_finished_spans()])
"""
    )
    assert done.stderr == ""
    assert done.stdout == "[{'lovia.turn.index': 1}]\n"


def test_a_resource_is_equal_to_that_of_the_sdk(tmp_path: Path) -> None:
    """Its hash is kept, and is that of any resource which equals it; so is that of merged ones."""
    with configure(file=tmp_path / "trace.jsonl", set_global=False) as handle:
        tracers: Any = handle.tracer_provider
        made = tracers.resource
    for ours in (made, made.merge(Resource({"service.instance.id": "another"}))):
        theirs = Resource(ours.attributes, ours.schema_url)
        assert type(ours) is type(made)
        assert (ours, hash(ours)) == (theirs, hash(theirs))
    assert ours.attributes["service.instance.id"] == "another"
