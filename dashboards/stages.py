"""The dashboard of stages and summaries: who does the work in a pass, and what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards import colours
from dashboards.frame import (
    BYTES_PER_MINUTE,
    COUNT,
    PER_MINUTE,
    SECONDS,
    SHARE,
    TOKENS,
    TOKENS_PER_MINUTE,
    Guide,
)
from dashboards.layout import board
from dashboards.panels import Column, Query, buckets, each, lines, ranking, rows
from dashboards.promql import (
    ARCHIVE_STORE,
    ERROR,
    OUTCOME,
    PURPOSE,
    STAGE,
    TRIGGER,
    average,
    increase,
    or_none,
    or_zero,
    per_minute,
    quantile,
    rate,
    source,
)
from dashboards.variables import metrics_variables
from dashboards.words import NO_ARCHIVING, NO_PASSES, NO_SUMMARIES
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

_PASSES: Final = source(names.METRIC_COMPACTION_DURATION)
_STAGES: Final = source(names.METRIC_STAGE_DURATION)
_FREED: Final = source(names.METRIC_FREED_TOKENS)
_REDUCTION: Final = source(names.METRIC_COMPACTION_REDUCTION)
_CHUNKS: Final = source(names.METRIC_COMPACTION_CHUNKS)
_CALLS: Final = source(names.METRIC_INFERENCE_DURATION).where(
    f'{PURPOSE}="{names.PURPOSE_SUMMARIZE}"'
)
_FAILED: Final = _CALLS.where(f'{ERROR}!=""')
_ARCHIVE_TIME: Final = source(names.METRIC_ARCHIVE_DURATION)
_ARCHIVE_SIZE: Final = source(names.METRIC_ARCHIVE_SIZE)


def stages() -> Dashboard:
    """Return the dashboard."""
    return board(
        "lovia: stages and summaries",
        "What happens inside a compaction pass: what sets it off, which stage takes how much off "
        "the request, how summaries are made, and whether what was removed is kept.",
        metrics_variables(),
        {
            "Which stage does the work?": _work(),
            "How do stages end?": _endings(),
            "Which stage takes the time?": _time(),
            "What sets passes off, and how hard do they cut?": _triggers(),
            "How are summaries made?": _summaries(),
            "Is what was removed kept?": _archive(),
        },
    )


def _work() -> list[Panel]:
    return [
        lines(
            "Freed by stage",
            [Query(per_minute(_FREED.value, STAGE), each(STAGE))],
            unit=TOKENS_PER_MINUTE,
            stacked=True,
            width=16,
            guide=Guide(
                shows="Tokens that each stage takes off requests each minute, at the moment it "
                "does. What is saved by it counts with every call that follows.",
                act="The cheap stages should do most. If summaries do, large tool results stay "
                "in the view for too long.",
                empty=NO_PASSES,
            ),
        ),
        ranking(
            "Freed by stage, in all",
            Query(or_none(increase(_FREED.value, STAGE), STAGE), each(STAGE)),
            unit=TOKENS,
            colour=colours.SAVED,
            guide=Guide(
                shows="The same over the whole time range.",
                act="A stage that frees nothing in days can be left out.",
                empty=NO_PASSES,
            ),
        ),
    ]


def _endings() -> list[Panel]:
    return [
        lines(
            "Stages by outcome",
            [Query(per_minute(_STAGES.count, OUTCOME), each(OUTCOME))],
            unit=PER_MINUTE,
            stacked=True,
            colours=colours.OUTCOMES,
            guide=Guide(
                shows="How stages ended: applied, noop (nothing to do), skipped, refused (its "
                "result was no valid view), failed, cancelled.",
                act="Refused is a fault in a stage: report it, or take the stage out. For failed "
                "see the runbook of LoviaStageFailing.",
                empty=NO_PASSES,
            ),
        ),
        rows(
            "Stages by name and outcome",
            {STAGE: "Stage", OUTCOME: "Outcome"},
            [Column("Times", increase(_STAGES.count, STAGE, OUTCOME), COUNT)],
            width=12,
            guide=Guide(
                shows="How often each stage ended in which way.",
                act="Find the traces of one of them by its name and outcome.",
                empty=NO_PASSES,
            ),
        ),
    ]


def _time() -> list[Panel]:
    return [
        lines(
            "Time a stage takes, 95th percentile",
            [Query(quantile(0.95, _STAGES, STAGE), each(STAGE))],
            unit=SECONDS,
            guide=Guide(
                shows="The time that 19 of 20 runs of a stage stay below.",
                act="Only stages that ask a model may take seconds. Another one that does works "
                "through very large results: lower its limits.",
                empty=NO_PASSES,
            ),
        ),
        lines(
            "Share of a pass's time",
            [Query(_share_of_time(), each(STAGE))],
            unit=SHARE,
            stacked=True,
            guide=Guide(
                shows="What each stage takes of the time that all stages take.",
                act="Speed up the widest band first.",
                empty=NO_PASSES,
            ),
        ),
    ]


def _share_of_time() -> str:
    """Return each stage's share of the time that all of them take."""
    return f"{rate(_STAGES.sum, STAGE)} / on() group_left() {rate(_STAGES.sum)}"


def _triggers() -> list[Panel]:
    return [
        lines(
            "Passes by trigger",
            [Query(or_none(per_minute(_PASSES.count, TRIGGER), TRIGGER), each(TRIGGER))],
            unit=PER_MINUTE,
            stacked=True,
            guide=Guide(
                shows="Why passes ran: the request reached the threshold, the view had too many "
                "entries, a batch of results was too large, the provider refused the request "
                "(overflow), somebody asked (manual).",
                act="Overflow should be rare: each one is a call that was paid for with time and "
                "failed. See the runbook of LoviaRequestsRefused.",
                empty=NO_PASSES,
            ),
        ),
        lines(
            "Share of the request that a pass takes off, median",
            [Query(quantile(0.5, _REDUCTION, TRIGGER), each(TRIGGER))],
            unit=SHARE,
            guide=Guide(
                shows="How hard passes cut, by what set them off.",
                act="Little off, and often: target and trigger lie too close together, and each "
                "pass breaks the prompt cache for little.",
                empty=NO_PASSES,
            ),
        ),
    ]


def _summaries() -> list[Panel]:
    return [
        buckets(
            "Chunks folded by a pass",
            _CHUNKS.bucket,
            unit=COUNT,
            colour=colours.SUMMARY_COST,
            width=8,
            guide=Guide(
                shows="How many chunks passes with a summary folded into it, each by a model call.",
                act="More than a few: passes start too late, or the summarizer's window is "
                "small beside the agent's.",
                empty=NO_SUMMARIES,
            ),
        ),
        lines(
            "Time of a summary's model call",
            [
                Query(quantile(0.5, _CALLS), "median"),
                Query(quantile(0.95, _CALLS), "95th percentile"),
                Query(average(_CALLS), "mean"),
            ],
            unit=SECONDS,
            width=8,
            colours={
                "median": colours.NEUTRAL,
                "95th percentile": colours.SUMMARY_COST,
                "mean": colours.NET,
            },
            guide=Guide(
                shows="How long the model that writes summaries takes for a call.",
                act="It is most of a slow pass. A smaller model writes good summaries, too.",
                empty=NO_SUMMARIES,
            ),
        ),
        lines(
            "Summary calls that failed",
            [
                Query(
                    or_none(per_minute(_FAILED.count, ERROR), ERROR),
                    each(ERROR),
                )
            ],
            unit=PER_MINUTE,
            stacked=True,
            width=8,
            guide=Guide(
                shows="Model calls of summaries that failed, by the class of the error.",
                act="After a few in a row summaries pause, and cheap stages work alone: see the "
                "runbook of LoviaSummariesFailing.",
                empty=NO_SUMMARIES,
            ),
        ),
    ]


def _archive() -> list[Panel]:
    failed = _ARCHIVE_TIME.where(f'{ERROR}!=""')
    return [
        lines(
            "Time of an archive write, 95th percentile",
            [Query(quantile(0.95, _ARCHIVE_TIME, ARCHIVE_STORE), each(ARCHIVE_STORE))],
            unit=SECONDS,
            width=8,
            guide=Guide(
                shows="How long it takes to keep what a pass removes. The pass waits for it.",
                act="Above a second: the store is far away or overloaded.",
                empty=NO_ARCHIVING,
            ),
        ),
        lines(
            "Archived",
            [Query(per_minute(_ARCHIVE_SIZE.sum, ARCHIVE_STORE), each(ARCHIVE_STORE))],
            unit=BYTES_PER_MINUTE,
            stacked=True,
            width=8,
            guide=Guide(
                shows="How much is written to each archive.",
                act="Use it to plan the store's space, and how long to keep what is in it.",
                empty=NO_ARCHIVING,
            ),
        ),
        lines(
            "Archive writes that failed",
            [Query(or_zero(per_minute(failed.count)), "failed")],
            unit=PER_MINUTE,
            stacked=True,
            width=8,
            colours={"failed": colours.TROUBLE},
            guide=Guide(
                shows="Writes that failed. The pass went on, but the model cannot recall what "
                "was to be kept.",
                act="Any: see the runbook of LoviaArchiveFailing.",
                empty=NO_ARCHIVING,
            ),
        ),
    ]
