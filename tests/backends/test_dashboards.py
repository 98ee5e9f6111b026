"""Each query of the dashboards, asked of the real Prometheus after real runs."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from dashboards import expressions, naming
from dashboards.expressions import dashboards, filled
from dashboards.preview.__main__ import main as preview
from dashboards.preview.__main__ import over_metrics
from lovia_otel import configure
from lovia_otel.metrics import METRICS
from tests.backends.waiting import eventually
from tests.dashboards import traffic

if TYPE_CHECKING:
    from pathlib import Path

    from dashboards import Expression
    from tests.backends.stack import Collector, Jaeger, Prometheus

_SERVICE = "fleet"
_CHOSEN = {"$service": _SERVICE}


def _name(expression: Expression) -> str:
    return f"{expression.dashboard}: {expression.panel}"


@pytest.fixture(scope="module")
def fleet(
    collector: Collector,
    prometheus: Prometheus,
    tmp_path_factory: pytest.TempPathFactory,
    _offline_vocabulary: None,
) -> Prometheus:
    """Prometheus, after the fleet did all of its work twice, and exported after each time."""
    with configure(collector.url, _SERVICE, set_global=False) as handle:
        for expected in (1, 2):
            anyio.run(traffic.everything, tmp_path_factory.mktemp("fleet"))
            assert handle.flush()
            # The Collector waits a little to fill its batches; samples are to be two, not one.
            _until_samples(prometheus, expected)
    return prometheus


def _until_samples(prometheus: Prometheus, count: int) -> None:
    expr = f'max(count_over_time(lovia_context_request_size_count{{job="{_SERVICE}"}}[1h]))'
    eventually(lambda: prometheus.values(expr), lambda found: bool(found) and found[0] >= count)


def test_metrics_have_the_names_that_rules_and_dashboards_use(fleet: Prometheus) -> None:
    """Each series of each declared metric is there, under its name and with its labels."""
    for metric in METRICS:
        for name in naming.series(metric):
            found = fleet.query(f'{name}{{job="{_SERVICE}"}}')
            assert found, name
            allowed = naming.labels(metric) | {"__name__", "job", "instance", "service_name"}
            assert {label for series in found for label in series["metric"]} <= allowed


@pytest.mark.parametrize("expression", expressions(_CHOSEN), ids=_name)
def test_a_panel_has_data(expression: Expression, fleet: Prometheus) -> None:
    """Each query gives at least one number."""
    values = fleet.values(expression.expr)
    assert any(math.isfinite(value) for value in values), values


@pytest.mark.parametrize(
    "expression",
    expressions({"${service_label}": "service_name", "$service": _SERVICE}),
    ids=_name,
)
def test_a_panel_has_data_by_the_other_label(expression: Expression, fleet: Prometheus) -> None:
    """The same holds where the service is told by the promoted attribute."""
    assert fleet.query(expression.expr)


def test_the_preview_finds_data_for_every_panel(fleet: Prometheus, tmp_path: Path) -> None:
    """Drawn from the real Prometheus, no panel of the metrics dashboards is left to its words."""
    assert preview([fleet.url, "--out", str(tmp_path), "--interval", "300"]) == 0
    pages = {page.stem: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")}
    assert set(pages) == {name for name, _ in over_metrics()}
    assert [name for name, page in pages.items() if 'class="empty"' in page] == []


def _variables() -> list[Any]:
    queries = {
        (variable["name"], variable["query"]["query"])
        for dashboard in dashboards()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "query" and "qryType" in variable["query"]
    }
    return [pytest.param(query, id=name) for name, query in sorted(queries)]


@pytest.mark.parametrize("query", _variables())
def test_a_variable_has_something_to_choose(query: str, fleet: Prometheus) -> None:
    """Each list of choices has entries."""
    selector, label = filled(query, _CHOSEN)[len("label_values(") : -1].rsplit(", ", 1)
    assert fleet.query(f"count by ({label}) ({selector}) > 0")


def test_exemplars_lead_to_traces(fleet: Prometheus, jaeger: Jaeger) -> None:
    """Points of the duration of passes know their traces, and Jaeger has such a trace."""
    series = f'lovia_compaction_duration_seconds_bucket{{job="{_SERVICE}"}}'
    now = time.time()
    found = fleet.exemplars(series, now - 3600, now + 60)
    ids = {exemplar["labels"]["trace_id"] for exemplar in found}
    kept = eventually(lambda: {trace["traceID"] for trace in jaeger.traces(_SERVICE)} & ids)
    assert kept
