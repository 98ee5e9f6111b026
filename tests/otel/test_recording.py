"""Recordings: trees of spans, series of metrics."""

from __future__ import annotations

import pytest

from lovia_otel import MetricPoint, Recording, SpanRecord


def span(name: str, parent: str | None = None, *, start: int = 0, trace: str = "t") -> SpanRecord:
    """Make a span whose id is its name."""
    return SpanRecord(
        name=name,
        trace_id=trace,
        span_id=name,
        parent_id=parent,
        kind="internal",
        start=start,
        end=start + 2_000_000_000,
    )


def point(value: float, *, agent: str = "a", time: int = 0, cumulative: bool = True) -> MetricPoint:
    """Make a point of a counter."""
    return MetricPoint(
        name="saved",
        unit="{token}",
        kind="sum",
        attributes={"agent": agent},
        start=0,
        time=time,
        cumulative=cumulative,
        value=value,
    )


def test_a_tree_is_walked_from_its_root_down() -> None:
    """Each span comes after its parent with its depth, children in the order of their start."""
    recording = Recording(
        spans=(
            span("chat", "turn", start=3),
            span("second", "run", start=9),
            span("turn", "run", start=2),
            span("run", start=1),
        )
    )
    walked = [(depth, s.name) for depth, s in recording.walk()]
    assert walked == [(0, "run"), (1, "turn"), (2, "chat"), (1, "second")]
    assert [s.name for s in recording.children(recording.roots[0])] == ["turn", "second"]


def test_a_span_whose_parent_is_elsewhere_is_a_root() -> None:
    """A parent in another process, or another trace with the same id, is not found here."""
    recording = Recording(
        spans=(span("a", "remote", start=2), span("b", "a", trace="other", start=1))
    )
    assert [s.name for s in recording.roots] == ["b", "a"]


def test_spans_that_name_each_other_are_walked_once() -> None:
    """A cycle, which no tracer writes, neither hangs nor hides a span."""
    recording = Recording(
        spans=(span("a", "c", start=1), span("b", "a", start=2), span("c", "b", start=3))
    )
    assert [(d, s.name) for d, s in recording.walk()] == [(0, "a"), (1, "b"), (2, "c")]


def test_a_span_that_is_its_own_parent_is_a_root() -> None:
    """The shortest cycle is no exception."""
    assert [s.name for s in Recording(spans=(span("a", "a"),)).roots] == ["a"]


def test_a_deep_tree_is_walked_without_recursion() -> None:
    """Depth is limited by memory alone."""
    chain = [span("0"), *(span(str(i), str(i - 1), start=i) for i in range(1, 20_000))]
    assert max(depth for depth, _ in Recording(spans=tuple(chain)).walk()) == 19_999


def test_spans_are_found_by_their_name() -> None:
    """A name finds itself and itself followed by what it is about."""
    recording = Recording(spans=(span("chat gpt"), span("chatter"), span("chat")))
    assert [s.name for s in recording.named("chat")] == ["chat gpt", "chat"]


def test_a_span_knows_how_long_it_took() -> None:
    """Seconds, from nanoseconds."""
    assert span("a", start=5).seconds == 2.0


def test_the_last_point_of_a_series_counts() -> None:
    """A reader writes cumulative points again and again; each series is as its last point says."""
    recording = Recording(points=(point(1), point(5, agent="b"), point(3, time=2)))
    assert [p.value for p in recording.metric("saved")] == [3, 5]


def test_delta_points_each_count() -> None:
    """What is reported as an increase is not replaced by the next increase."""
    recording = Recording(points=(point(1, cumulative=False), point(2, cumulative=False)))
    assert sum(p.value or 0 for p in recording.metric("saved")) == 3


@pytest.mark.parametrize("name", ["", "other"])
def test_an_unknown_metric_has_no_points(name: str) -> None:
    """Asking for what is not there gives nothing."""
    assert Recording(points=(point(1),)).metric(name) == ()
