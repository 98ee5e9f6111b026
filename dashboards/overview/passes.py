"""How passes end, who waits for them, and what is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards import colours
from dashboards.frame import COUNT, PER_MINUTE, SECONDS, SHARE, Guide
from dashboards.panels import Column, Query, each, lines, number, ranking, rows
from dashboards.promql import (
    AGENT,
    CANCELLATION_CHECKPOINT,
    CANCELLATION_REASON,
    OUTCOME,
    increase,
    or_none,
    or_zero,
    per_minute,
    quantile,
    share,
    source,
)
from dashboards.words import NO_PASSES, NO_RUNS
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

_PASSES = source(names.METRIC_COMPACTION_DURATION)
_RUNS = source(names.METRIC_RUN_DURATION)
_CANCELLATIONS = source(names.METRIC_CANCELLATIONS)
_DROPPED = source(names.METRIC_DROPPED_EVENTS)


def outcomes() -> list[Panel]:
    """Return how passes end."""
    ended = per_minute(_PASSES.count, OUTCOME)
    return [
        lines(
            "Passes by outcome",
            [Query(or_none(ended, OUTCOME), each(OUTCOME))],
            unit=PER_MINUTE,
            stacked=True,
            colours=colours.OUTCOMES,
            guide=Guide(
                shows="How passes ended: compacted, partial (useful, though a stage failed), "
                "noop, inflated (larger, so not used), failed, cancelled.",
                act="For partial and failed see how stages end; for noop, raise the trigger.",
                empty=NO_PASSES,
            ),
        ),
        rows(
            "Passes by agent and outcome",
            {AGENT: "Agent", OUTCOME: "Outcome"},
            [Column("Passes", increase(_PASSES.count, AGENT, OUTCOME), COUNT)],
            width=12,
            guide=Guide(
                shows="How often each agent's passes ended in which way.",
                act="Take the agent and its outcome to the dashboard of traces.",
                empty=NO_PASSES,
            ),
        ),
    ]


def waiting() -> list[Panel]:
    """Return how long passes hold runs up."""
    return [
        lines(
            "How long a pass takes",
            [
                Query(quantile(0.5, _PASSES), "median"),
                Query(quantile(0.95, _PASSES), "95th percentile"),
            ],
            unit=SECONDS,
            colours={"median": colours.NEUTRAL, "95th percentile": colours.REQUEST},
            guide=Guide(
                shows="The time that a turn waits for compaction, when there is a pass at all.",
                act="Milliseconds without a summary, seconds with one. Follow an exemplar to "
                "the trace of a slow pass, and see the runbook of LoviaCompactionSlow.",
                empty=NO_PASSES,
            ),
        ),
        lines(
            "Share of a run's time that compaction takes",
            [Query(share(_PASSES.sum, _RUNS.sum, AGENT), each(AGENT))],
            unit=SHARE,
            guide=Guide(
                shows="Of the time that an agent's runs last, what passes take. Runs count "
                "when they end.",
                act="The highest curve is the agent that keeps its users waiting: give it a "
                "faster summarizer, or a lower target, so that passes are rarer.",
                empty=NO_RUNS,
            ),
        ),
    ]


def cancellations() -> list[Panel]:
    """Return which runs were stopped and where, and what telemetry was lost."""
    return [
        lines(
            "Cancelled runs by reason",
            [
                Query(
                    or_none(
                        per_minute(_CANCELLATIONS.value, CANCELLATION_REASON), CANCELLATION_REASON
                    ),
                    each(CANCELLATION_REASON),
                )
            ],
            unit=PER_MINUTE,
            stacked=True,
            guide=Guide(
                shows="Who stopped runs: the user, a timeout, a shutdown, the run above.",
                act="Users who stop runs were waiting; for timeouts see the runbook of "
                "LoviaRunsTimingOut.",
                empty="No run was cancelled in this time",
            ),
        ),
        ranking(
            "Where they stopped",
            Query(
                or_none(
                    increase(_CANCELLATIONS.value, CANCELLATION_CHECKPOINT),
                    CANCELLATION_CHECKPOINT,
                ),
                each(CANCELLATION_CHECKPOINT),
            ),
            unit=COUNT,
            colour=colours.CANCELLED,
            guide=Guide(
                shows="The safe point at which a cancelled run noticed.",
                act="Many at fold or summary_stream: users lose patience during compaction.",
                empty="No run was cancelled in this time",
            ),
        ),
        number(
            "Telemetry lost",
            or_zero(increase(_DROPPED.value)),
            unit=COUNT,
            colour=colours.SAVED,
            limits={1: colours.TROUBLE},
            guide=Guide(
                shows="Spans, points and events that could not be recorded. The runs went on.",
                act="Anything above zero: see the runbook of LoviaTelemetryLost.",
                empty="Nothing was lost in this time",
            ),
        ),
    ]
