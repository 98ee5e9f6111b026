"""A forked process goes on with telemetry of its own, and repeats none of its parent's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lovia_otel import names, read_recording
from tests.paths import REPO
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

    from lovia_otel import Recording

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

_PROGRAM = Path(__file__).with_name("forked_program.py")
_INSTANCE = "service.instance.id"
_OWN = ("before", "waiting", "after")


def forked(way: str, destination: str) -> None:
    """Run the program; one that hangs is killed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        # From 3.12 on, Python warns of each fork of a process with threads: that is the point here.
        [
            sys.executable,
            "-W",
            "ignore:This process:DeprecationWarning",
            _PROGRAM,
            way,
            destination,
        ],
        env={**clean, "PYTHONPATH": f"{REPO}:{REPO / 'instrumentation'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


def runs_of(recording: Recording) -> dict[str, int]:
    """Return how many runs each process counted, by the agents that it counted them for."""
    last: dict[tuple[object, object], int] = {}
    for point in recording.metric(names.METRIC_RUN_DURATION):
        last[point.resource[_INSTANCE], point.attributes[names.AGENT_NAME]] = point.count or 0
    totals: Counter[str] = Counter()
    for (_, agent), count in last.items():
        totals[str(agent).partition(" ")[0]] += count
    return dict(totals)


@pytest.mark.parametrize("way", ["by_fork", "by_multiprocessing", "as_server", "by_hand"])
def test_parent_and_children_are_recorded_once(way: str, tmp_path: Path) -> None:
    """Each run has one span, one event and one count, in whichever process it was."""
    file = tmp_path / "trace.jsonl"
    forked(way, str(file))
    recording = read_recording(file)
    expected = {**dict.fromkeys(_OWN, 1), "child": 3}
    agents = [str(span.attributes[names.AGENT_NAME]) for span in recording.spans]
    assert Counter(agent.partition(" ")[0] for agent in agents) == expected
    assert len(recording.events) == 6
    assert runs_of(recording) == expected
    instances = {span.resource[_INSTANCE] for span in recording.spans}
    assert len(instances) == 4
    assert instances == {p.resource[_INSTANCE] for p in recording.metric(names.METRIC_RUN_DURATION)}


@pytest.mark.parametrize("way", ["by_fork", "by_multiprocessing", "as_server", "by_hand"])
def test_a_receiver_gets_everything_once(way: str) -> None:
    """Over the network it is the same: parent and children have connections of their own."""
    with Receiver() as receiver:
        forked(way, receiver.url)
    expected = {**dict.fromkeys(_OWN, 1), "child": 3}
    agents = [_text(span.attributes, names.AGENT_NAME) for span in receiver.spans()]
    assert Counter(agent.partition(" ")[0] for agent in agents) == expected
    assert len({span.span_id for span in receiver.spans()}) == 6
    assert len(receiver.logs()) == 6
    last = {
        _text(point.attributes, names.AGENT_NAME): point.count
        for metric in receiver.metrics()
        if metric.name == names.METRIC_RUN_DURATION
        for point in metric.histogram.data_points
    }
    assert set(last.values()) == {1}
    assert {agent.partition(" ")[0] for agent in last} == {*_OWN, "child"}


def _text(attributes: Iterable[KeyValue], name: str) -> str:
    return next(item.value.string_value for item in attributes if item.key == name)


def test_a_fork_among_busy_threads_never_hangs(tmp_path: Path) -> None:
    """Whatever locks other threads hold at that moment, a child gets on and tells its own."""
    file = tmp_path / "trace.jsonl"
    forked("while_busy", str(file))
    recording = read_recording(file)
    counted = runs_of(recording)
    assert counted["child"] == 10
    assert {**counted, "busy": 0} == {**dict.fromkeys(_OWN, 1), "child": 10, "busy": 0}
    ids = [(span.trace_id, span.span_id) for span in recording.spans]
    assert len(ids) == len(set(ids))


def test_a_bridge_goes_on_in_both(tmp_path: Path) -> None:
    """An event is told by the process that heard it, once."""
    file = tmp_path / "trace.jsonl"
    forked("with_bridge", str(file))
    told = [event.attributes[names.HANDOFF_SOURCE] for event in read_recording(file).events]
    assert told.count("bridged") == 2
