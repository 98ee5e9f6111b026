"""The preview draws every panel of the metrics dashboards, with its words where data is missing."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards import frame
from dashboards.expressions import panels
from dashboards.preview import charts
from dashboards.preview.__main__ import main, over_metrics
from dashboards.preview.figures import figure
from dashboards.preview.page import render
from dashboards.preview.prometheus import Prometheus, QueryFailed, Series, Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SPAN = Span(1_000.0, 1_600.0, 60.0)
_HOSTILE = "<script>alert(1)</script>"


class Answers(Prometheus):
    """Answers every query with two series, whose labels hold markup."""

    def __init__(self, *values: float) -> None:
        super().__init__("http://127.0.0.1:9")
        self._values = values

    def at(self, expr: str, moment: float) -> list[Series]:
        """Return the values at one moment."""
        return [
            Series(
                {**dict.fromkeys(_labels(expr), f"{_HOSTILE}{k}"), "le": f"{k + 1}"}, ((moment, v),)
            )
            for k, v in enumerate(self._values)
        ]

    def over(self, expr: str, span: Span) -> list[Series]:
        """Return the same values at three moments."""
        moments = (span.start, span.start + span.step, span.start + 2 * span.step)
        return [
            Series(series.labels, tuple((moment, series.last) for moment in moments))
            for series in self.at(expr, span.end)
        ]


def _labels(expr: str) -> list[str]:
    grouped = re.search(r"by \(([^)]*)\)", expr)
    return re.split(r",\s*", grouped[1]) if grouped else []


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.256, frame.SHARE, "25.6 %"),
        (0, frame.SHARE, "0 %"),
        (90, frame.SECONDS, "1.5 min"),
        (0.0123, frame.SECONDS, "12.3 ms"),
        (0, frame.SECONDS, "0 s"),
        (1536, frame.BYTES, "1.5 KiB"),
        (152_400, frame.TOKENS, "152 k tok"),
        (-2_500_000, frame.TOKENS, "-2.5 M tok"),
        (12, frame.TOKENS_PER_MINUTE, "12 tok/min"),
        (3.14159, frame.PER_MINUTE, "3.14 /min"),
        (7, frame.COUNT, "7"),
    ],
)
def test_a_value_is_written_in_its_unit(value: float, unit: str, shown: str) -> None:
    """Values have three digits that count, and the unit that the panel names."""
    assert figure(value, unit) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_an_axis_has_few_round_values_inside_its_range(low: float, length: float) -> None:
    """Grid lines lie inside the range, at equal distances, a handful of them."""
    high = low + length
    if high - low < abs(low) * 1e-6:
        return  # too short for numbers of this size
    found = charts.steps(low, high)

    assert 1 <= len(found) <= 9
    room = length * 1e-3
    assert all(low - room <= value <= high + room for value in found)


@pytest.mark.parametrize("values", [(), (3.0, 5.0), (0.0, 0.0), (-4.0, 2.0)], ids=str)
@pytest.mark.parametrize("name", [name for name, _ in over_metrics()])
def test_every_panel_is_drawn(name: str, values: tuple[float, ...]) -> None:
    """A page has each row and panel of its dashboard; pictures are well-formed, markup is text."""
    (dashboard,) = [dashboard for known, dashboard in over_metrics() if known == name]

    page = render(dashboard, Answers(*values), _SPAN, {})

    shown = list(panels(dashboard))
    assert page.count("<section") == len(shown)
    assert page.count("<h2>") == sum(panel["type"] == "row" for panel in dashboard["panels"])
    assert "A preview, not Grafana" in page
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(picture)
    assert "<script" not in page
    if values:
        assert "&lt;script&gt;" in page
    else:
        assert page.count('class="empty"') == len(shown)


def test_over_metrics_leaves_out_what_asks_a_trace_store() -> None:
    """Dashboards of traces are none of the preview's."""
    assert {name for name, _ in over_metrics()} == {"overview", "runs", "stages"}


@contextmanager
def _server(answer: dict[str, Any], status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_is_no_number_is_left_out() -> None:
    """A quotient of nothing by nothing is not drawn."""
    result = [
        {"metric": {"a": "1"}, "value": [5, "NaN"]},
        {"metric": {"a": "2"}, "value": [5, "2.5"]},
    ]
    with _server({"status": "success", "data": {"result": result}}) as url:
        found = Prometheus(url).at("x", 5)

    assert [(series.labels, series.last) for series in found] == [({"a": "2"}, 2.5)]


def test_a_refused_query_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with 1 and says which query the server refused, and why."""
    with _server({"error": "parse error"}, status=400) as url:
        assert main([url, "--out", str(tmp_path)]) == 1

    said = capsys.readouterr().err
    assert "parse error" in said
    assert "histogram_quantile" in said


def test_no_server_is_told() -> None:
    """Where nobody answers, the message names the place."""
    with pytest.raises(QueryFailed, match=r"no Prometheus answers at http://127\.0\.0\.1:9"):
        Prometheus("http://127.0.0.1:9").at("x", 0)
