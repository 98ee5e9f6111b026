"""The dashboard of traces in Jaeger, whose search compares tags as text and cannot calculate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards.frame import Guide
from dashboards.layout import board
from dashboards.tracing import jaeger_list
from dashboards.variables import datasource, text
from dashboards.words import NO_TRACES
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

_ERROR: Final = {"error": "true"}  # what Jaeger makes of a span with an error


def jaeger() -> Dashboard:
    """Return the dashboard."""
    return board(
        "lovia: traces (Jaeger)",
        "Searches for the passes, folds and runs that are worth a look. Each row leads to its "
        "trace. Jaeger lists the newest traces first, and whole traces, not spans.",
        [
            datasource("jaeger", "Traces", "jaeger"),
            text("service", "Service", "lovia", "The service whose traces are searched."),
            text("slow", "Slow from", "5s", "The time from which a pass is in the slow ones."),
        ],
        {
            "Which passes take long, and which failed?": _passes(),
            "Which passes were forced, and which were no use?": _forced(),
            "Which folds were difficult?": _folds(),
            "Which runs did not complete?": _runs(),
        },
    )


def _passes() -> list[Panel]:
    return [
        jaeger_list(
            "Traces with a slow pass",
            operation=names.SPAN_PASS,
            longer_than="${slow}",
            guide=Guide(
                shows="Traces with a pass that took longer than the time chosen above.",
                act="In the trace see which fold or archive write takes the time.",
                empty=NO_TRACES,
            ),
        ),
        jaeger_list(
            "Traces with a failed pass",
            operation=names.SPAN_PASS,
            tags=_ERROR,
            guide=Guide(
                shows="Traces with a pass that failed or was cancelled.",
                act="Look for the stage with an error below the pass.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _forced() -> list[Panel]:
    return [
        jaeger_list(
            "Traces with a pass after a refusal",
            operation=names.SPAN_PASS,
            tags={names.COMPACTION_TRIGGER: names.TRIGGER_OVERFLOW},
            guide=Guide(
                shows="Traces with a pass that ran because the provider refused a request.",
                act="Each teaches the policy the real window, once. Many: set it.",
                empty=NO_TRACES,
            ),
        ),
        jaeger_list(
            "Traces with a partial pass",
            operation=names.SPAN_PASS,
            tags={names.COMPACTION_OUTCOME: names.PARTIAL},
            guide=Guide(
                shows="Traces with a pass that was useful although one of its stages failed.",
                act="The stage's tags say what was wrong with it.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _folds() -> list[Panel]:
    return [
        jaeger_list(
            "Traces with a failed fold",
            operation=names.SPAN_FOLD,
            tags=_ERROR,
            guide=Guide(
                shows="Traces with a chunk that could not be summarised.",
                act="The model calls below the fold say what the summarizer answered.",
                empty=NO_TRACES,
            ),
        ),
        jaeger_list(
            "Traces with a split entry",
            operation=names.SPAN_FOLD,
            tags={names.CHUNK_DEGRADED: "true"},
            guide=Guide(
                shows="Traces with an entry too large for the summarizer, which was split.",
                act="Lower the limit of tool results, or give the summarizer a larger window.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _runs() -> list[Panel]:
    outcomes = {
        names.FAILED: "Look at the deepest span with an error.",
        names.CANCELLED: "The tag of the checkpoint says where it was stopped.",
        names.LIMIT_REACHED: "The last turns show whether the agent went in circles.",
    }
    return [
        jaeger_list(
            f"Runs: {outcome}",
            tags={names.RUN_OUTCOME: outcome},
            width=8,
            guide=Guide(
                shows=f"Traces with a run that ended as {outcome}.", act=act, empty=NO_TRACES
            ),
        )
        for outcome, act in outcomes.items()
    ]
