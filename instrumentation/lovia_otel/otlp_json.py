"""Reading OTLP JSON lines back: the format that the file exporter writes, one object a line.

The encoding is protobuf's JSON form with two differences that OTLP makes: ids are hex text, and
enumerations are numbers. 64-bit integers are texts, and a field with its default may be missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lovia_otel.errors import RecordingFormatError
from lovia_otel.facts import clean_text
from lovia_otel.recording import (
    LogEvent,
    MetricPoint,
    Recording,
    SpanEvent,
    SpanLink,
    SpanRecord,
    Value,
)

Json = Mapping[str, Any]

_KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUSES: Final = ("unset", "ok", "error")
_CUMULATIVE: Final = 2


def read_recording(*files: str | os.PathLike[str], strict: bool = True) -> Recording:
    """Read files of OTLP JSON lines, as the file exporter writes them, into one recording.

    With ``strict`` off, damaged lines (the last one of a process that was killed, say) are listed
    in ``Recording.damaged`` and the rest is read.

    Raises:
        RecordingFormatError: a line is damaged or is not OTLP JSON; it names file and line.
        OSError: a file cannot be opened or read.
    """
    found = _Found()
    for file in files:
        _read_file(os.fspath(file), found, strict=strict)
    return Recording(
        tuple(found.spans.values()), tuple(found.points), tuple(found.events), tuple(found.damaged)
    )


@dataclass
class _Found:
    # By id: a file that was written to by two exporters holds each span twice.
    spans: dict[tuple[str, str], SpanRecord] = field(default_factory=dict)
    points: list[MetricPoint] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)
    damaged: list[RecordingFormatError] = field(default_factory=list)

    def take(self, line: Json) -> None:
        known = [key for key in _SIGNALS if key in line]
        if not known:
            raise _MalformedError("not an OTLP object")
        for key in known:
            for resource in _objects(line, key):
                _SIGNALS[key](self, resource)


class _MalformedError(Exception):
    """A part of a line is not what OTLP JSON says."""


def _read_file(file: str, found: _Found, *, strict: bool) -> None:
    with Path(file).open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                found.take(_parse(line))
            except (_MalformedError, RecursionError) as problem:  # nested beyond all reason
                damage = RecordingFormatError(file, number, str(problem))
                if strict:
                    raise damage from None
                found.damaged.append(damage)


def _parse(line: bytes) -> Json:
    try:
        parsed = json.loads(line)
    except ValueError as error:  # UnicodeDecodeError is one too
        raise _MalformedError(f"not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise _MalformedError("not a JSON object")
    return parsed


# --- spans ---


def _take_spans(found: _Found, group: Json) -> None:
    resource = _resource(group)
    for scope, span in _scoped(group, "scopeSpans", "spans"):
        read = _span(span, resource, scope)
        found.spans[read.trace_id, read.span_id] = read


def _span(span: Json, resource: Mapping[str, Value], scope: str) -> SpanRecord:
    status = _object(span, "status")
    return SpanRecord(
        name=_text(span, "name"),
        trace_id=_id(span, "traceId"),
        span_id=_id(span, "spanId"),
        parent_id=_text(span, "parentSpanId") or None,
        kind=_pick(_KINDS, _integer(span, "kind")),
        start=_integer(span, "startTimeUnixNano"),
        end=_integer(span, "endTimeUnixNano"),
        attributes=_attributes(span),
        status=_pick(_STATUSES, _integer(status, "code")),
        status_message=_text(status, "message"),
        events=tuple(
            SpanEvent(_text(event, "name"), _integer(event, "timeUnixNano"), _attributes(event))
            for event in _objects(span, "events")
        ),
        links=tuple(
            SpanLink(_id(link, "traceId"), _id(link, "spanId"), _attributes(link))
            for link in _objects(span, "links")
        ),
        resource=resource,
        scope=scope,
    )


# --- metrics ---


def _take_metrics(found: _Found, group: Json) -> None:
    resource = _resource(group)
    for _, metric in _scoped(group, "scopeMetrics", "metrics"):
        for kind in ("sum", "gauge", "histogram"):
            if kind in metric:
                data = _object(metric, kind)
                found.points.extend(
                    _point(metric, kind, data, point, resource)
                    for point in _objects(data, "dataPoints")
                )


def _point(
    metric: Json, kind: Any, data: Json, point: Json, resource: Mapping[str, Value]
) -> MetricPoint:
    histogram = kind == "histogram"
    return MetricPoint(
        name=_text(metric, "name"),
        unit=_text(metric, "unit"),
        kind=kind,
        attributes=_attributes(point),
        start=_integer(point, "startTimeUnixNano"),
        time=_integer(point, "timeUnixNano"),
        cumulative=kind == "gauge" or _integer(data, "aggregationTemporality") == _CUMULATIVE,
        monotonic=data.get("isMonotonic") is True,
        value=None if histogram else _value_of(point),
        count=_integer(point, "count"),
        sum=_number(point.get("sum", 0.0)),
        minimum=None if "min" not in point else _number(point["min"]),
        maximum=None if "max" not in point else _number(point["max"]),
        bounds=tuple(_number(bound) for bound in _list(point, "explicitBounds")),
        buckets=tuple(_whole(count, "bucketCounts") for count in _list(point, "bucketCounts")),
        resource=resource,
    )


def _value_of(point: Json) -> float:
    if "asInt" in point:
        return _integer(point, "asInt")
    return _number(point.get("asDouble", 0.0))


# --- logs ---


def _take_logs(found: _Found, group: Json) -> None:
    resource = _resource(group)
    for _, record in _scoped(group, "scopeLogs", "logRecords"):
        seen = _integer(record, "observedTimeUnixNano")
        found.events.append(
            LogEvent(
                name=_text(record, "eventName"),
                time=_integer(record, "timeUnixNano") or seen,
                severity=_text(record, "severityText"),
                attributes=_attributes(record),
                body=_value(_object(record, "body")),
                trace_id=_text(record, "traceId"),
                span_id=_text(record, "spanId"),
                resource=resource,
            )
        )


_SIGNALS: Final[Mapping[str, Callable[[_Found, Json], None]]] = {
    "resourceSpans": _take_spans,
    "resourceMetrics": _take_metrics,
    "resourceLogs": _take_logs,
}

# --- parts that all signals share ---


def _resource(group: Json) -> Mapping[str, Value]:
    return _attributes(_object(group, "resource"))


def _scoped(group: Json, scopes: str, items: str) -> Iterator[tuple[str, Json]]:
    for scoped in _objects(group, scopes):
        name = _text(_object(scoped, "scope"), "name")
        for item in _objects(scoped, items):
            yield name, item


def _attributes(holder: Json) -> dict[str, Value]:
    return {
        _text(pair, "key"): _value(_object(pair, "value"))
        for pair in _objects(holder, "attributes")
    }


def _value(value: Json) -> Value:
    for key, read in _VALUES.items():
        if key in value:
            return read(value, key)
    return None


def _array(value: Json, key: str) -> list[Value]:
    return [_value(item) for item in _objects(_object(value, key), "values")]


def _mapping(value: Json, key: str) -> dict[str, Value]:
    pairs = _objects(_object(value, key), "values")
    return {_text(pair, "key"): _value(_object(pair, "value")) for pair in pairs}


def _double(value: Json, key: str) -> float:
    return _number(value[key])


def _boolean(value: Json, key: str) -> bool:
    return value[key] is True


def _text(holder: Json, key: str) -> str:
    text = holder.get(key, "")
    if not isinstance(text, str):
        raise _MalformedError(f"{key} is not a text")
    return clean_text(text, len(text))


def _id(holder: Json, key: str) -> str:
    text = _text(holder, key)
    if not text:
        raise _MalformedError(f"{key} is missing")
    return text


def _integer(holder: Json, key: str) -> int:
    return _whole(holder.get(key, 0), key)


def _whole(value: Any, key: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise _MalformedError(f"{key} is not an integer") from None


def _number(value: Any) -> float:
    try:
        return float(value)  # also of "NaN", "Infinity" and 64-bit integers, which are texts
    except (TypeError, ValueError):
        raise _MalformedError("a number was expected") from None


def _object(holder: Json, key: str) -> Json:
    value = holder.get(key, {})
    if not isinstance(value, dict):
        raise _MalformedError(f"{key} is not an object")
    return value


def _list(holder: Json, key: str) -> list[Any]:
    value = holder.get(key, [])
    if not isinstance(value, list):
        raise _MalformedError(f"{key} is not a list")
    return value


def _objects(holder: Json, key: str) -> list[Json]:
    items = _list(holder, key)
    if not all(isinstance(item, dict) for item in items):
        raise _MalformedError(f"{key} holds something that is not an object")
    return items


def _pick(names: tuple[str, ...], number: int) -> Any:
    return names[number] if 0 <= number < len(names) else names[0]


_VALUES: Final[Mapping[str, Callable[[Json, str], Value]]] = {
    "stringValue": _text,
    "boolValue": _boolean,
    "intValue": _integer,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _mapping,
    "bytesValue": _text,
}
