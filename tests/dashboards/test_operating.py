"""What the page on operating says in numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import anyio
import pytest

from dashboards import naming
from lovia_otel import names
from lovia_otel.metrics import MAX_VALUES_PER_KEY, METRICS
from tests.dashboards import traffic
from tests.dashboards.emitted import recording
from tests.paths import REPO

if TYPE_CHECKING:
    from tests.dashboards.emitted import Emitted

TEXT = " ".join((REPO / "docs" / "operating.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None) -> Emitted:
    """Run the demo's session alone."""
    with recording() as seen:
        anyio.run(traffic.demo, tmp_path_factory.mktemp("demo"))
    return seen


def stated(pattern: str) -> float:
    """Return the number that the page says in words like these."""
    match = re.search(pattern.replace("N", r"([\d,]+)"), TEXT)
    assert match, pattern
    return float(match[1].replace(",", ""))


def test_the_number_of_series(demo: Emitted) -> None:
    """A process and an agent have as many series as the page says, give or take a tenth."""
    assert demo.count_series() == pytest.approx(stated("comes to about N series"), rel=0.1)
    of_agents = {m.name for m in METRICS if names.AGENT_NAME in m.attributes}
    alone = demo.count_series(of_agents)
    assert alone == pytest.approx(stated("an agent alone has about N of them"), rel=0.1)


def test_the_size_of_histograms() -> None:
    """The series of one histogram are those of its buckets, and two more."""
    size = {m.name: len(m.buckets or ()) + 3 for m in METRICS if m.kind == "histogram"}
    assert size[names.METRIC_HISTORY_SIZE] == stated("A histogram of token sizes is N series")
    assert size[names.METRIC_COMPACTION_DURATION] == stated("one of durations is N")
    assert size[names.METRIC_PREFIX_REUSED] == stated("one of shares N")


def test_the_bound_on_values() -> None:
    """Labels that users name have the bound that the page says."""
    assert stated("after N values of a label") == MAX_VALUES_PER_KEY
    assert f"`{names.OTHER}`" in TEXT


def test_the_number_of_spans(demo: Emitted) -> None:
    """The demo has as many turns as the page says, and about as many spans."""
    assert len(demo.spans[names.SPAN_TURN][names.TURN_INDEX]) == stated("the demo, with N turns")
    assert 2 < len(demo.spans[names.SPAN_PASS][names.COMPACTION_ID]) < 10  # a handful
    assert demo.count_spans == pytest.approx(stated("makes about N spans"), rel=0.1)


def test_quoted_metrics_exist() -> None:
    """Each of our own series that the page quotes is declared or recorded."""
    known = {name for metric in METRICS for name in naming.series(metric)}
    quoted = set(re.findall(r"`(lovia_[a-z_]+_(?:total|bucket|count|sum))`", TEXT))
    assert quoted
    assert quoted <= known
