"""The dashboard of agent runs: how many, how long, how they end, and what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards import colours, economy
from dashboards.frame import BYTES, COUNT, PER_MINUTE, SECONDS, TOKENS, TOKENS_PER_MINUTE, Guide
from dashboards.layout import board
from dashboards.panels import Column, Query, buckets, each, lines, rows
from dashboards.promql import (
    AGENT,
    CHECKPOINT_STORE,
    ERROR,
    HANDOFF_SOURCE,
    HANDOFF_TARGET,
    MODEL,
    PURPOSE,
    RANGE,
    RUN_OUTCOME,
    TOOL,
    increase,
    or_none,
    or_zero,
    or_zero_of,
    per_minute,
    quantile,
    rate,
    source,
    total,
)
from dashboards.variables import metrics_variables
from dashboards.words import NO_CALLS, NO_CHECKPOINTS, NO_RUNS, NO_TOOLS
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

_RUNS: Final = source(names.METRIC_RUN_DURATION)
_ACTIVE: Final = source(names.METRIC_RUNS_ACTIVE)
_PASSES: Final = source(names.METRIC_COMPACTION_DURATION)
_TURNS: Final = f'{PURPOSE}="{names.PURPOSE_TURN}"'
_CALLS: Final = source(names.METRIC_INFERENCE_DURATION).where(_TURNS)
_FIRST: Final = source(names.METRIC_TIME_TO_FIRST_CHUNK).where(_TURNS)
_TOOLS: Final = source(names.METRIC_TOOL_DURATION)
_HANDOFFS: Final = source(names.METRIC_HANDOFFS)
_CHECKPOINT_TIME: Final = source(names.METRIC_CHECKPOINT_DURATION)
_CHECKPOINT_SIZE: Final = source(names.METRIC_CHECKPOINT_SIZE)
_FAILURES: Final = f'{ERROR}!=""'


def runs() -> Dashboard:
    """Return the dashboard."""
    return board(
        "lovia: agent runs",
        "How many runs there are, how long they take, how they end, and what they wait for: "
        "models, tools, compaction, checkpoints.",
        metrics_variables(),
        {
            "Which agents are at work?": _agents(),
            "How do runs end?": _endings(),
            "How long do runs take?": _times(),
            "What do models take?": _models(),
            "What do model calls spend?": _tokens(),
            "What do tools take?": _tools(),
            "Who hands over to whom, and are runs saved?": _handoffs_and_checkpoints(),
        },
    )


def _agents() -> list[Panel]:
    failed = _RUNS.where(f'{RUN_OUTCOME}="{names.FAILED}"')
    made = increase(_RUNS.count, AGENT)
    return [
        lines(
            "Runs under way",
            [Query(total(_ACTIVE.value, AGENT), each(AGENT))],
            unit=COUNT,
            width=8,
            guide=Guide(
                shows="How many runs of each agent are open.",
                act="A curve that only climbs is runs that never end: look for a tool without a "
                "time limit.",
                empty="No agent has run since its process began",
            ),
        ),
        rows(
            "Agents",
            {AGENT: "Agent"},
            [
                Column("Runs", made, COUNT),
                Column(
                    "Failed",
                    or_zero_of(increase(failed.count, AGENT), made),
                    COUNT,
                    colours.TROUBLE,
                ),
                Column("Run, 95th", quantile(0.95, _RUNS, AGENT, over=RANGE), SECONDS),
                Column("Passes", increase(_PASSES.count, AGENT), COUNT),
                Column("Pass, 95th", quantile(0.95, _PASSES, AGENT, over=RANGE), SECONDS),
                Column("Net", economy.net(AGENT), TOKENS, colours.NET),
            ],
            width=16,
            guide=Guide(
                shows="Each agent over the whole time range.",
                act="Choose an agent above, to see it alone on all dashboards.",
                empty=NO_RUNS,
            ),
        ),
    ]


def _endings() -> list[Panel]:
    return [
        lines(
            "Runs by outcome",
            [Query(or_none(per_minute(_RUNS.count, RUN_OUTCOME), RUN_OUTCOME), each(RUN_OUTCOME))],
            unit=PER_MINUTE,
            stacked=True,
            colours=colours.OUTCOMES,
            guide=Guide(
                shows="How runs ended: completed, failed, cancelled, limit_reached (turns or "
                "budget), suspended (waiting for an approval).",
                act="For failed see the runbook of LoviaRunsFailing. Many at a limit: the task "
                "is too large for it, or the agent goes in circles.",
                empty=NO_RUNS,
            ),
        ),
        lines(
            "Errors that ended runs",
            [Query(or_none(per_minute(_RUNS.where(_FAILURES).count, ERROR), ERROR), each(ERROR))],
            unit=PER_MINUTE,
            stacked=True,
            guide=Guide(
                shows="The class of the error that ended a run, each minute.",
                act="ContextOverflowError: not even a reactive pass made the request fit. "
                "ProviderError: see the model's own failures below.",
                empty=NO_RUNS,
            ),
        ),
    ]


def _times() -> list[Panel]:
    return [
        buckets(
            "Duration of runs",
            _RUNS.bucket,
            unit=SECONDS,
            colour=colours.REQUEST,
            guide=Guide(
                shows="How many runs took how long.",
                act="Follow the exemplars of the longest to their traces.",
                empty=NO_RUNS,
            ),
        ),
        lines(
            "Duration by agent, 95th percentile",
            [Query(quantile(0.95, _RUNS, AGENT), each(AGENT))],
            unit=SECONDS,
            guide=Guide(
                shows="The time that 19 of 20 runs of an agent stay below.",
                act="Compare with the model's, the tools' and compaction's times to see what it "
                "is made of.",
                empty=NO_RUNS,
            ),
        ),
    ]


def _models() -> list[Panel]:
    return [
        lines(
            "Duration of a model call, 95th percentile",
            [Query(quantile(0.95, _CALLS, MODEL), each(MODEL))],
            unit=SECONDS,
            width=8,
            guide=Guide(
                shows="From the request to the end of the answer, in turns.",
                act="A model that slows down for all agents is the provider's doing.",
                empty=NO_CALLS,
            ),
        ),
        lines(
            "Time until an answer begins, 95th percentile",
            [Query(quantile(0.95, _FIRST, MODEL), each(MODEL))],
            unit=SECONDS,
            width=8,
            guide=Guide(
                shows="From the request to the first piece of a streamed answer.",
                act="It grows with the request and with cold prompt caches: compare the prefix "
                "on the overview.",
                empty="No streamed answer in this time",
            ),
        ),
        lines(
            "Model calls that failed",
            [Query(or_none(per_minute(_CALLS.where(_FAILURES).count, ERROR), ERROR), each(ERROR))],
            unit=PER_MINUTE,
            stacked=True,
            width=8,
            guide=Guide(
                shows="Failed calls of turns by the class of the error. Many are tried again and "
                "never end a run.",
                act="ContextOverflowError: the configured window is larger than the real one.",
                empty=NO_CALLS,
            ),
        ),
    ]


def _tokens() -> list[Panel]:
    read = source(names.METRIC_INPUT_TOKENS)
    cached = source(names.METRIC_CACHE_READ_TOKENS)
    written = source(names.METRIC_OUTPUT_TOKENS)
    return [
        lines(
            "Tokens of model calls",
            [
                Query(f"60 * ({rate(read.value)} - {or_zero(rate(cached.value))})", "fresh input"),
                Query(f"60 * {or_zero(rate(cached.value))}", "cached input"),
                Query(per_minute(written.value), "output"),
            ],
            unit=TOKENS_PER_MINUTE,
            stacked=True,
            colours={
                "fresh input": colours.REQUEST,
                "cached input": colours.SAVED,
                "output": colours.NEUTRAL,
            },
            guide=Guide(
                shows="What all model calls spend, summaries included, as providers report it.",
                act="Fresh input is what a stable prefix and compaction can lower.",
                empty=NO_CALLS,
            ),
        ),
        lines(
            "Tokens by purpose",
            [
                Query(
                    f"60 * ({rate(read.value, PURPOSE)} + {rate(written.value, PURPOSE)})",
                    each(PURPOSE),
                )
            ],
            unit=TOKENS_PER_MINUTE,
            stacked=True,
            colours={
                names.PURPOSE_TURN: colours.REQUEST,
                names.PURPOSE_SUMMARIZE: colours.SUMMARY_COST,
            },
            guide=Guide(
                shows="The same by what the calls were for: turns of agents, or summaries.",
                act="For the share that summaries may have see the overview.",
                empty=NO_CALLS,
            ),
        ),
    ]


def _tools() -> list[Panel]:
    called = increase(_TOOLS.count, TOOL)
    failed = increase(_TOOLS.where(_FAILURES).count, TOOL)
    return [
        lines(
            "Duration of a tool call, 95th percentile",
            [Query(quantile(0.95, _TOOLS, TOOL), each(TOOL))],
            unit=SECONDS,
            guide=Guide(
                shows="The time that 19 of 20 calls of a tool stay below.",
                act="A slow tool holds up its whole turn: give it a time limit.",
                empty=NO_TOOLS,
            ),
        ),
        rows(
            "Tools",
            {TOOL: "Tool"},
            [
                Column("Calls", called, COUNT),
                Column("Failed", or_zero_of(failed, called), COUNT, colours.TROUBLE),
                Column("Time", increase(_TOOLS.sum, TOOL), SECONDS),
            ],
            width=12,
            guide=Guide(
                shows="Each tool over the whole time range.",
                act="A tool that often fails fills the history with error messages.",
                empty=NO_TOOLS,
            ),
        ),
    ]


def _handoffs_and_checkpoints() -> list[Panel]:
    failed = _CHECKPOINT_TIME.where(_FAILURES)
    handed = increase(_HANDOFFS.value, HANDOFF_SOURCE, HANDOFF_TARGET)
    return [
        rows(
            "Handoffs",
            {HANDOFF_SOURCE: "From", HANDOFF_TARGET: "To"},
            [Column("Times", or_none(handed, HANDOFF_SOURCE), COUNT)],
            width=6,
            guide=Guide(
                shows="How often one agent handed the conversation to another.",
                act="Two agents that hand back and forth need clearer instructions.",
                empty="No handoff in this time",
            ),
        ),
        lines(
            "Time of saving a checkpoint, 95th percentile",
            [Query(quantile(0.95, _CHECKPOINT_TIME, CHECKPOINT_STORE), each(CHECKPOINT_STORE))],
            unit=SECONDS,
            width=6,
            guide=Guide(
                shows="How long runs wait for their checkpoint.",
                act="It should not grow with a session's length: each save writes what is new.",
                empty=NO_CHECKPOINTS,
            ),
        ),
        lines(
            "Size of a checkpoint's save, 95th percentile",
            [Query(quantile(0.95, _CHECKPOINT_SIZE, CHECKPOINT_STORE), each(CHECKPOINT_STORE))],
            unit=BYTES,
            width=6,
            guide=Guide(
                shows="How much each save writes.",
                act="Megabytes are large tool results: lower the limit of tool results.",
                empty=NO_CHECKPOINTS,
            ),
        ),
        lines(
            "Checkpoints that failed",
            [Query(or_zero(per_minute(failed.count)), "failed")],
            unit=PER_MINUTE,
            stacked=True,
            width=6,
            colours={"failed": colours.TROUBLE},
            guide=Guide(
                shows="Saves that failed. Such a run cannot be resumed from there.",
                act="Any: see the runbook of LoviaCheckpointsFailing.",
                empty=NO_CHECKPOINTS,
            ),
        ),
    ]
