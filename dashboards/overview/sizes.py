"""How large histories and requests get, and how full they make the windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards import colours, economy
from dashboards.frame import SHARE, TOKENS, Guide
from dashboards.panels import Query, buckets, each, lines
from dashboards.promql import AGENT, MODEL, above, quantile, source
from dashboards.words import NO_CALLS, NO_WINDOW
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

_UTILIZATION = source(names.METRIC_WINDOW_UTILIZATION)


def histories() -> list[Panel]:
    """Return how large histories get."""
    return [
        buckets(
            "History, all calls",
            economy.HISTORY.bucket,
            unit=TOKENS,
            colour=colours.HISTORY,
            guide=Guide(
                shows="How many model calls stood for a history of which size.",
                act="A band that climbs to the window and beyond is a session that only "
                "compaction keeps alive. Follow an exemplar to its trace.",
                empty=NO_CALLS,
            ),
        ),
        lines(
            "History by agent, 95th percentile",
            [Query(quantile(0.95, economy.HISTORY, AGENT), each(AGENT))],
            unit=TOKENS,
            guide=Guide(
                shows="The size that 19 of 20 calls of an agent stay below.",
                act="An agent far above its peers collects what it does not need: look at the "
                "size of its tools' results.",
                empty=NO_CALLS,
            ),
        ),
    ]


def requests() -> list[Panel]:
    """Return how large what is sent gets, beside the history that it stands for."""
    return [
        buckets(
            "Request, all calls",
            economy.REQUEST.bucket,
            unit=TOKENS,
            colour=colours.REQUEST,
            guide=Guide(
                shows="How many model calls sent a request of which size.",
                act="The band should end at the trigger of the policy. What lies above it was "
                "sent although compaction could not make it smaller.",
                empty=NO_CALLS,
            ),
        ),
        lines(
            "History and request, 95th percentile",
            [
                Query(quantile(0.95, economy.HISTORY), "History"),
                Query(quantile(0.95, economy.REQUEST), "Request"),
            ],
            unit=TOKENS,
            colours=colours.NUMBERS,
            guide=Guide(
                shows="What calls would send without compaction, and what they send. The gap is "
                "what compaction does.",
                act="Curves that rise together mean that no stage finds anything to take off.",
                empty=NO_CALLS,
            ),
        ),
    ]


def windows() -> list[Panel]:
    """Return how full the requests make the models' windows."""
    limits = {0.85: colours.SUMMARY_COST, 1.0: colours.TROUBLE}
    return [
        lines(
            "Window filled",
            [
                Query(quantile(0.5, _UTILIZATION), "median"),
                Query(quantile(0.95, _UTILIZATION), "95th percentile"),
            ],
            unit=SHARE,
            limits=limits,
            colours={"median": colours.NEUTRAL, "95th percentile": colours.REQUEST},
            guide=Guide(
                shows="The share of the model's window that requests fill.",
                act="Near 100 % the next tool result overflows: lower the trigger or the target, "
                "or see the runbook of LoviaWindowNearlyFull.",
                empty=NO_WINDOW,
            ),
        ),
        lines(
            "Calls that fill more than 95 % of their window",
            [Query(above(_UTILIZATION, 0.95, MODEL), each(MODEL))],
            unit=SHARE,
            guide=Guide(
                shows="Share of a model's calls whose request nearly fills the window.",
                act="One model alone: its configured window is too large. All models: the policy "
                "does not reach its target, see how stages end.",
                empty=NO_WINDOW,
            ),
        ),
    ]
