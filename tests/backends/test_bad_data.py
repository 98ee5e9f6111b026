"""What the dashboards show where data is missing or starts anew, by the real Prometheus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from dashboards import economy, expressions
from dashboards.expressions import filled
from dashboards.promql import increase, rate, source
from lovia_otel import names
from tests.backends.faults import work
from tests.backends.past import Process
from tests.dashboards import traffic

if TYPE_CHECKING:
    from pathlib import Path

    from dashboards import Expression
    from tests.backends.stack import Prometheus

_RUNS = source(names.METRIC_RUN_DURATION)


def _for(service: str) -> dict[str, str]:
    return {"$service": service}


def _name(expression: Expression) -> str:
    return f"{expression.dashboard}: {expression.panel}"


@pytest.mark.parametrize("expression", expressions(_for("nobody")), ids=_name)
def test_a_service_that_is_not_there(expression: Expression, prometheus: Prometheus) -> None:
    """Without any series a query gives nothing, or zero, and is never refused."""
    assert set(prometheus.values(expression.expr)) <= {0.0}


#: Services whose agents never had anything compacted: without a policy, and before one had to act.
_BRIEF = {"unmanaged": traffic.unmanaged, "in-time": traffic.in_time}


@pytest.fixture(scope="module")
def brief(
    prometheus: Prometheus, tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None
) -> Prometheus:
    """Prometheus, told of services whose agents never had anything compacted."""
    for service, runs in _BRIEF.items():
        process = Process(service)
        for ago in (240, 180, 120, 60, 0):
            with process.working():
                work(runs, tmp_path_factory.mktemp(service))
            process.report(prometheus, ago)
    return prometheus


@pytest.mark.parametrize(
    "expression", [e for service in _BRIEF for e in expressions(_for(service))], ids=_name
)
def test_an_agent_without_compaction(expression: Expression, brief: Prometheus) -> None:
    """Every number is finite and none is negative; a gap is no number."""
    values = [value for value in brief.values(expression.expr) if not math.isnan(value)]
    assert all(math.isfinite(value) and value >= 0 for value in values), values


@pytest.mark.parametrize(("service", "known"), [("unmanaged", []), ("in-time", [0])], ids=str)
def test_what_an_agent_without_compaction_saves(
    service: str, known: list[float], brief: Prometheus
) -> None:
    """A policy that had nothing to do saved nothing; without one there is no figure."""
    for figure in (economy.saved, economy.net):
        assert brief.values(filled(figure(), _for(service))) == known
    assert brief.values(filled(economy.cost(), _for(service))) == [0]


@pytest.mark.parametrize("instance", ["1", "2"])
def test_a_process_that_starts_anew(instance: str, prometheus: Prometheus, folder: Path) -> None:
    """A restart, under the old id or a new one, neither loses what was counted nor doubles it."""
    service = f"restarted-{instance}"
    before, after = Process(service, "1"), Process(service, instance)
    for number, process in enumerate([before] * 3 + [after] * 3):
        with process.working():
            work(traffic.unmanaged, folder / str(number))
        process.report(prometheus, (5 - number) * 40.0)
    counted = prometheus.values(filled(increase(_RUNS.count), {"$service": service}))
    # Six runs. The first one of each id that is new to Prometheus is no increase to it; for the
    # time before and after the samples it adds up to a step for each series.
    assert 4 <= counted[0] <= 6.5
    (rates,) = [prometheus.values(filled(rate(_RUNS.count), {"$service": service}))]
    assert all(0 <= value < 6.5 / 200 for value in rates)
