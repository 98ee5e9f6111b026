"""The dashboard that an operator looks at first: one question a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.layout import board
from dashboards.overview import glance, money, passes, savings, sizes
from dashboards.variables import metrics_variables

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard


def overview() -> Dashboard:
    """Return the dashboard."""
    return board(
        "lovia: overview",
        "What the context of the agents costs, and what compaction does about it. Sizes are "
        "tokens of one model call; saved and cost are tokens over time.",
        metrics_variables(),
        {
            "The numbers at a glance": glance.glance(),
            "How large do histories get?": sizes.histories(),
            "How large is what is sent?": sizes.requests(),
            "How full are the windows?": sizes.windows(),
            "What does compaction save, and what is left after its cost?": savings.savings(),
            "What does compaction cost?": savings.costs(),
            "What is that in money?": money.money(),
            "Do prompt caches survive?": savings.caches(),
            "How do passes end?": passes.outcomes(),
            "Who waits for compaction, and how long?": passes.waiting(),
            "What is cancelled, and where?": passes.cancellations(),
        },
    )
