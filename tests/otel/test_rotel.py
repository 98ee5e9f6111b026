"""What is exported is OTLP to a receiver that others wrote.

`rotel` takes a request apart and puts it together anew before it sends it on, so what it cannot
read does not come out of it.
"""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import pytest

from lovia_otel import configure, names, read_recording
from lovia_otel.metrics import METRICS
from tests.dashboards import traffic
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: Final = 30.0  # seconds; a machine with much to do is no failure


def _agent() -> Path:
    """Return the program of the package; the package itself is not imported, which starts it."""
    spec = find_spec("rotel")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("rotel is not there: it has no wheel for this platform or Python")
    return Path(spec.submodule_search_locations[0]) / "rotel-agent"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _rotel(folder: Path, onwards: str) -> Iterator[str]:
    """Run it between us and a receiver of ours, and yield its base address."""
    port = _free_port()
    command = [
        str(_agent()),
        "start",
        f"--otlp-http-endpoint=127.0.0.1:{port}",
        f"--otlp-grpc-endpoint=127.0.0.1:{_free_port()}",
        f"--pid-file={folder / 'rotel.pid'}",
        f"--log-file={folder / 'rotel.log'}",
        "--exporter=otlp",
        f"--otlp-exporter-endpoint={onwards}",
        "--otlp-exporter-protocol=http",
        "--batch-timeout=50ms",
    ]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        said = folder / "output"
        _wait_for(lambda: _listens(url) or process.poll() is not None, said.read_text)
        if "shared libraries" in (problem := said.read_text()):
            pytest.skip(f"rotel does not start with this build of Python: {problem}")
        assert process.poll() is None, problem
        yield url
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def _listens(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _wait_for(condition: Any, problem: Any) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, problem()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def passed_on(
    tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None
) -> Iterator[tuple[Receiver, Any]]:
    """What came out of it after the fleet's work, and what went in, from a file."""
    folder = tmp_path_factory.mktemp("rotel")
    sent = folder / "sent.jsonl"
    with Receiver() as receiver, _rotel(folder, receiver.url) as url:
        with configure(url, "fleet", file=sent, set_global=False):
            anyio.run(traffic.everything, folder)
        recording = read_recording(sent)
        _wait_for(
            lambda: (
                len(receiver.spans()) >= len(recording.spans)
                and len(receiver.logs()) >= len(recording.events)
                and receiver.metrics()
            ),
            lambda: f"{len(receiver.spans())} spans, {len(receiver.logs())} events came",
        )
        yield receiver, recording


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def _attributes(item: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in item.attributes}


def test_every_span_is_understood(passed_on: tuple[Receiver, Any]) -> None:
    """Each span comes out with its name, its parent, its times and its attributes."""
    receiver, recording = passed_on
    came = {span.span_id.hex(): span for span in receiver.spans()}
    assert set(came) == {span.span_id for span in recording.spans}
    for span in recording.spans:
        other = came[span.span_id]
        assert other.name == span.name
        assert other.parent_span_id.hex() == (span.parent_id or "")
        assert _attributes(other).keys() == span.attributes.keys()
        for key, value in span.attributes.items():
            assert _attributes(other)[key] == value


def test_every_metric_is_understood(passed_on: tuple[Receiver, Any]) -> None:
    """Each declared metric comes out, with its unit and as the kind that it is."""
    receiver, _ = passed_on
    came = {metric.name: metric for metric in receiver.metrics()}
    for metric in METRICS:
        other = came[metric.name]
        assert other.unit == metric.unit
        assert other.HasField("histogram") == (metric.kind == "histogram")
        if metric.kind == "histogram":
            bounds = {tuple(point.explicit_bounds) for point in other.histogram.data_points}
            assert bounds == {metric.buckets}
        else:
            assert other.sum.is_monotonic == (metric.kind == "counter")


def test_every_event_is_understood(passed_on: tuple[Receiver, Any]) -> None:
    """Each log event comes out, those of a pass with the span that they belong to."""
    receiver, recording = passed_on
    assert len(receiver.logs()) == len(recording.events)
    passes = {span.span_id for span in recording.spans if span.name == names.SPAN_PASS}
    compacted = [
        record for record in receiver.logs() if record.event_name == names.EVENT_CONTEXT_COMPACTED
    ]
    assert compacted
    assert {record.span_id.hex() for record in compacted} <= passes
