"""OTLP JSON lines are read back whole, and damage is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_otel import (
    ChatSizes,
    Recording,
    RecordingFormatError,
    TelemetryError,
    chat_scope,
    configure,
    logs,
    names,
    pass_scope,
    read_recording,
    run_scope,
    turn_scope,
)

if TYPE_CHECKING:
    from pathlib import Path

SAVED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SPAN = {"traceId": "t", "spanId": "s", "name": "n", "startTimeUnixNano": "1"}


def record(file: Path) -> Recording:
    """Record a small run into `file` and read it back."""
    sizes = ChatSizes(100, 60, 200, 40, "bytes")
    call: dict[str, Any] = {"provider": "openai", "model": "gpt", "purpose": "turn", "agent": "a"}
    with (
        configure(file=file, service_name="demo", set_global=False),
        run_scope(agent="a", run_id="r", session_id=None, resumed_from=SAVED) as run,
        turn_scope(index=1),
    ):
        with chat_scope(**call, sizes=sizes, prefix_reused=0.5) as chat:
            chat.settle(input_tokens=61, finish_reason="stop")
        with pass_scope(policy="p", trigger="manual", pass_id="1") as scope:
            scope.settle(outcome="failed", stages=["x", "日本\ud800"])
        logs.agent_handoff(source="a", target="b")
        run.settle(outcome="completed")
    return read_recording(file)


def write(file: Path, *lines: Any) -> Path:
    """Write lines, as they are or as JSON."""
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    file.write_bytes(b"\n".join(texts))
    return file


def spans_line(**fields: Any) -> dict[str, Any]:
    """Make the object of one span that differs in `fields` from a plain one."""
    span = {**SPAN, **fields}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def metrics_line(metric: dict[str, Any]) -> dict[str, Any]:
    """Make the object of one metric."""
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]}


# --- a real export ---


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    """The tree, the facts, the statuses and the link survive export and reading."""
    recording = record(tmp_path / "trace.jsonl")
    assert [(depth, span.name) for depth, span in recording.walk()] == [
        (0, "invoke_agent a"),
        (1, "agent_turn"),
        (2, "chat gpt"),
        (2, "compact_context"),
    ]
    (run,) = recording.roots
    (link,) = run.links
    assert (link.trace_id, link.span_id) == tuple(SAVED.split("-")[1:3])
    assert link.attributes == {names.LINK_TYPE: "resumed_from"}
    assert run.attributes[names.RUN_RESUMED] is False
    assert run.resource["service.name"] == "demo"
    assert run.scope == names.SCOPE_NAME
    assert run.status == "unset"
    (chat,) = recording.named("chat")
    assert chat.kind == "client"
    assert chat.attributes[names.USAGE_INPUT_TOKENS] == 61
    assert chat.attributes[names.CONTEXT_PREFIX_REUSED] == 0.5
    assert chat.attributes[names.RESPONSE_FINISH_REASONS] == ["stop"]
    assert 0 < chat.seconds < 60
    (compaction,) = recording.named("compact_context")
    assert compaction.status == "error"
    assert compaction.attributes[names.COMPACTION_STAGES] == ["x", "日本?"]


def test_metrics_and_events_come_back_with_the_spans(tmp_path: Path) -> None:
    """One file holds all three signals; points keep values, buckets and attributes."""
    recording = record(tmp_path / "trace.jsonl")
    (saved,) = recording.metric(names.METRIC_SAVED_TOKENS)
    assert saved.value == 40
    assert saved.monotonic
    assert saved.attributes[names.TOKENS_SOURCE] == "bytes"
    (size,) = recording.metric(names.METRIC_REQUEST_SIZE)
    assert (size.count, size.sum, size.minimum, size.maximum) == (1, 60.0, 60.0, 60.0)
    assert list(size.bounds) == list(names.TOKEN_BUCKETS)
    assert size.buckets == (1, *[0] * len(names.TOKEN_BUCKETS))
    assert size.unit == "{token}"
    event = recording.events[-1]
    assert event.name == names.EVENT_AGENT_HANDOFF
    assert event.severity == "INFO"
    assert event.attributes == {names.HANDOFF_SOURCE: "a", names.HANDOFF_TARGET: "b"}
    (turn,) = recording.named("agent_turn")
    assert (event.trace_id, event.span_id) == (turn.trace_id, turn.span_id)


def test_several_files_make_one_recording(tmp_path: Path) -> None:
    """The spans of two processes are read together; one file read twice counts once."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    record(first)
    record(second)
    assert len(read_recording(first, second).spans) == 8
    assert len(read_recording(first, first).spans) == 4


# --- forms that an exporter may write ---


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"stringValue": "x"}, "x"),
        ({"boolValue": False}, False),
        ({"intValue": "9223372036854775807"}, 2**63 - 1),
        ({"intValue": 5}, 5),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, [1, None]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({"bytesValue": "AAE="}, "AAE="),
        ({}, None),
        ({"stringValue": "a\ud800"}, "a?"),
    ],
)
def test_every_kind_of_value_is_read(tmp_path: Path, written: Any, read: object) -> None:
    """Values of protobuf's JSON form become plain ones, texts always encodable."""
    line = spans_line(attributes=[{"key": "k", "value": written}])
    (span,) = read_recording(write(tmp_path / "x.jsonl", line)).spans
    assert span.attributes == {"k": read}


def test_defaults_may_be_missing(tmp_path: Path) -> None:
    """A span with nothing but its ids is a root that took no time."""
    line = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "s"}]}]}]}
    (span,) = read_recording(write(tmp_path / "x.jsonl", line)).spans
    assert (span.name, span.parent_id, span.kind, span.status) == ("", None, "unspecified", "unset")
    assert span.seconds == 0


def test_span_events_are_read(tmp_path: Path) -> None:
    """Events of other instrumentations' spans are kept."""
    line = spans_line(events=[{"name": "e", "timeUnixNano": "7", "attributes": []}])
    (span,) = read_recording(write(tmp_path / "x.jsonl", line)).spans
    assert [(event.name, event.time) for event in span.events] == [("e", 7)]


def test_empty_lines_and_an_empty_file_are_no_damage(tmp_path: Path) -> None:
    """Nothing was recorded, and nothing is wrong."""
    assert read_recording(write(tmp_path / "x.jsonl", b"", b"  ", b"")) == Recording()


# --- damage ---

DAMAGED: list[Any] = [
    b"{",
    b"\xff\xfe\x00binary",
    b"[]",
    b"null",
    b'"text"',
    {},
    {"type": "message"},
    {"resourceSpans": {}},
    {"resourceSpans": [5]},
    {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s"}]}]}]},
    spans_line(name=5),
    spans_line(startTimeUnixNano="soon"),
    spans_line(startTimeUnixNano=float("inf")),
    spans_line(attributes=[{"key": "k", "value": {"intValue": "x"}}]),
    spans_line(attributes="none"),
    spans_line(status=[]),
    {
        "resourceMetrics": [
            {"scopeMetrics": [{"metrics": [{"sum": {"dataPoints": [{"asInt": "x"}]}}]}]}
        ]
    },
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": 5}]}]}]},
    b'{"resourceSpans":' + b"[" * 100_000,
]


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda damage: repr(damage)[:50])
def test_damage_is_named_by_file_and_line(tmp_path: Path, damage: Any) -> None:
    """The error says which line of which file is not OTLP JSON, and what to do."""
    file = write(tmp_path / "x.jsonl", spans_line(), damage)
    with pytest.raises(RecordingFormatError, match=r"x\.jsonl, line 2: ") as caught:
        read_recording(file)
    assert caught.value.file == str(file)
    assert caught.value.line == 2
    assert "strict=False" in caught.value.hint
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TelemetryError)


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda damage: repr(damage)[:50])
def test_the_rest_can_be_read_around_the_damage(tmp_path: Path, damage: Any) -> None:
    """With `strict` off the damaged line is listed, and the lines around it are read."""
    file = write(tmp_path / "x.jsonl", spans_line(), damage, spans_line(spanId="other"))
    recording = read_recording(file, strict=False)
    assert {span.span_id for span in recording.spans} == {"s", "other"}
    assert [error.line for error in recording.damaged] == [2]


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    """It is no damage, and it names the file."""
    with pytest.raises(FileNotFoundError, match=r"gone\.jsonl"):
        read_recording(tmp_path / "gone.jsonl")


_keys = st.sampled_from(
    [
        *("resourceSpans", "scopeSpans", "spans", "traceId", "spanId", "attributes", "key"),
        *("resourceMetrics", "scopeMetrics", "metrics", "histogram", "sum", "dataPoints"),
        *("resourceLogs", "scopeLogs", "logRecords", "body", "value", "status", "arrayValue"),
        *("values", "bucketCounts", "min"),
    ]
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(_keys, _json, max_size=3))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, line: Any) -> None:
    """Whatever a line holds, reading gives a recording or the one error that names the line."""
    file = write(tmp_path_factory.mktemp("fuzz") / "x.jsonl", line)
    recording = read_recording(file, strict=False)
    assert len(recording.damaged) <= 1
