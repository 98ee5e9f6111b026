"""Expressions of the dashboards hold where data is missing, restarts, or never was."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from dashboards import economy, expressions
from dashboards.expressions import filled
from dashboards.promql import AGENT, above, or_none, or_zero, quantile, rate, share, source
from lovia_otel import names
from tests.dashboards.promtool import promtool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.dashboards.promtool import Promtool

__all__ = ["promtool"]

_SAVED = "lovia_context_saved_tokens_total"
_READ = "lovia_compaction_summary_input_tokens_total"
_WRITTEN = "lovia_compaction_summary_output_tokens_total"
_A, _B = '{job="app",gen_ai_agent_name="a"}', '{job="app",gen_ai_agent_name="b"}'
_CANCELLED = source(names.METRIC_CANCELLATIONS)
_REASON = "lovia_cancellation_reason"
_PASSES = source(names.METRIC_COMPACTION_DURATION)
_RUNS = source(names.METRIC_RUN_DURATION)
_FILLED = source(names.METRIC_WINDOW_UTILIZATION)
_STEADY = "0+60x90"  # one a second


@pytest.mark.parametrize(
    ("expr", "series", "values"),
    [
        pytest.param(economy.cost(), {}, {"{}": 0}, id="no summary ever: a cost of zero"),
        pytest.param(economy.net(), {}, {}, id="no figure for savings: none for net"),
        pytest.param(
            economy.net(grown=rate), {f"{_SAVED}{_A}": _STEADY}, {"{}": 1}, id="net without losses"
        ),
        pytest.param(
            economy.net(AGENT, grown=rate),
            {
                f"{_SAVED}{_A}": _STEADY,
                f"{_SAVED}{_B}": _STEADY,
                f"{_READ}{_B}": "0+30x90",
                f"{_WRITTEN}{_B}": "0+6x90",
            },
            {'{gen_ai_agent_name="a"}': 1, '{gen_ai_agent_name="b"}': 0.4},
            id="one agent that never had a summary",
        ),
        pytest.param(
            economy.saved(grown=rate),
            {f"{_SAVED}{_A}": "0+60x57 0+60x30"},
            {"{}": 0.75},  # of the five minutes' four steps, the one over the restart is not known
            id="a restart in the window",
        ),
        pytest.param(
            or_none(rate(_CANCELLED.value, _REASON), _REASON),
            {},
            {f'{{{_REASON}="none"}}': 0},
            id="nothing was ever cancelled",
        ),
        pytest.param(
            or_none(rate(_CANCELLED.value, _REASON), _REASON),
            {f'lovia_cancellations_total{{job="app",{_REASON}="user"}}': _STEADY},
            {f'{{{_REASON}="user"}}': 1},
            id="something was cancelled: no word for none",
        ),
        pytest.param(
            share(_PASSES.sum, _RUNS.sum, AGENT),
            {f"gen_ai_invoke_agent_duration_seconds_sum{_A}": _STEADY},
            {'{gen_ai_agent_name="a"}': 0},
            id="runs without a pass: a share of zero",
        ),
        pytest.param(
            share(_PASSES.sum, _RUNS.sum, AGENT),
            {f"lovia_compaction_duration_seconds_sum{_A}": _STEADY},
            {},
            id="passes of runs that have not ended: no share",
        ),
        pytest.param(
            f"{or_zero(rate(_CANCELLED.value))} / {rate(_PASSES.count)}",
            {},
            {},
            id="a share of nothing",
        ),
        pytest.param(
            quantile(0.5, _PASSES),
            {f'lovia_compaction_duration_seconds_bucket{{job="app",le="{le}"}}': "7x90"
             for le in ("1", "+Inf")},
            {"{}": math.nan},
            id="passes, but none of late: a gap",
        ),
    ],
)  # fmt: skip
def test_what_an_expression_gives(
    expr: str,
    series: Mapping[str, str],
    values: Mapping[str, float],
    promtool: Promtool,
    tmp_path: Path,
) -> None:
    """Missing series count as zero where they are losses, and as nothing where they are gains."""
    if any(map(math.isnan, values.values())):
        expr, values = f"count({filled(expr)} != {filled(expr)})", dict.fromkeys(values, 1)
    promtool.expect(tmp_path, filled(expr), series, values)


@pytest.mark.parametrize("bound", ["1", "1.0"])
def test_whole_bounds_are_found_however_they_are_written(
    bound: str, promtool: Promtool, tmp_path: Path
) -> None:
    """Prometheus writes the bound 1 as `1` or `1.0`, depending on the way in."""
    series = {
        f'lovia_context_window_utilization_bucket{{job="app",le="{bound}"}}': "0+30x90",
        'lovia_context_window_utilization_bucket{job="app",le="1.1"}': "0+60x90",
        'lovia_context_window_utilization_count{job="app"}': "0+60x90",
    }
    promtool.expect(tmp_path, filled(above(_FILLED, 1)), series, {"{}": 0.5})


def test_a_bound_that_is_none_is_refused() -> None:
    """A share above a bound that the histogram does not have is a mistake, found at once."""
    with pytest.raises(ValueError, match=r"no bucket boundary 0\.42"):
        above(_FILLED, 0.42)


def test_every_panel_survives_an_empty_database(promtool: Promtool, tmp_path: Path) -> None:
    """With no series at all no query fails, and those that give something give zero."""
    together = " or ".join(f"count(({expression.expr}) != 0)" for expression in expressions())
    promtool.expect(tmp_path, together, {}, {})


def test_the_service_can_be_told_by_either_label() -> None:
    """With the other service label chosen, no query mentions the first."""
    chosen = {"${service_label}": "service_name", "$service": "app"}
    for expression in expressions(chosen):
        assert 'service_name=~"app"' in expression.expr
        assert "job=" not in expression.expr
