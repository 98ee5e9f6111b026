"""What compaction saves, what it costs, and whether prompt caches survive it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards import colours, economy
from dashboards.frame import PER_MINUTE, SHARE, TOKENS, TOKENS_PER_MINUTE, Guide
from dashboards.panels import Column, Query, each, lines, ranking, rows
from dashboards.promql import (
    AGENT,
    MODEL,
    PURPOSE,
    or_none,
    or_zero,
    per_minute,
    quantile,
    rate,
    share,
    source,
)
from dashboards.words import NO_CALLS, NO_PASSES, NO_SUMMARIES, NO_WINDOW
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

_PREFIX = source(names.METRIC_PREFIX_REUSED)
_PASSES = source(names.METRIC_COMPACTION_DURATION)
_INPUT = source(names.METRIC_INPUT_TOKENS)
_OUTPUT = source(names.METRIC_OUTPUT_TOKENS)
_CACHED = source(names.METRIC_CACHE_READ_TOKENS)
_TURNS = f'{PURPOSE}="{names.PURPOSE_TURN}"'


def savings() -> list[Panel]:
    """Return what compaction saves before and after its cost."""
    return [
        lines(
            "Saved, summary cost and net",
            [
                Query(f"60 * ({economy.saved(grown=rate)})", "Saved"),
                Query(f"60 * ({economy.cost(grown=rate)})", "Summary cost"),
                Query(f"60 * ({economy.net(grown=rate)})", "Net"),
            ],
            unit=TOKENS_PER_MINUTE,
            colours=colours.NUMBERS,
            guide=Guide(
                shows="What compaction keeps out of model calls each minute, what its summaries "
                "spend, and what is left.",
                act="Cost comes in peaks, savings last as long as the session: judge the net "
                "over hours, not minutes.",
                empty=NO_WINDOW,
            ),
        ),
        rows(
            "Savings by agent",
            {AGENT: "Agent"},
            [
                Column("Saved", economy.saved(AGENT), TOKENS, colours.SAVED),
                Column("Summary cost", economy.cost(AGENT), TOKENS, colours.SUMMARY_COST),
                Column("Net", economy.net(AGENT), TOKENS, colours.NET),
            ],
            width=12,
            guide=Guide(
                shows="The three numbers of each agent over the whole time range.",
                act="Give an agent whose net is negative a higher trigger, or a summarizer that "
                "asks no model.",
                empty=NO_WINDOW,
            ),
        ),
    ]


def costs() -> list[Panel]:
    """Return what compaction's own model calls spend."""
    summaries = f'{PURPOSE}="{names.PURPOSE_SUMMARIZE}"'
    spent = [rate(part.where(summaries).value) for part in (_INPUT, _OUTPUT)]
    all_of_it = [rate(part.value) for part in (_INPUT, _OUTPUT)]
    return [
        lines(
            "What summaries read and write",
            [
                Query(f"60 * {or_zero(rate(economy.SUMMARY_INPUT.value))}", "read"),
                Query(f"60 * {or_zero(rate(economy.SUMMARY_OUTPUT.value))}", "written"),
            ],
            unit=TOKENS_PER_MINUTE,
            stacked=True,
            colours={"read": colours.SUMMARY_COST, "written": colours.NEUTRAL},
            guide=Guide(
                shows="Input and output tokens of compaction's own model calls each minute.",
                act="Much read for little written is how summaries are. Much written: ask for "
                "shorter ones.",
                empty=NO_SUMMARIES,
            ),
        ),
        lines(
            "Share of all tokens that summaries spend",
            [Query(f"({' + '.join(map(or_zero, spent))}) / ({' + '.join(all_of_it)})", "share")],
            unit=SHARE,
            colours={"share": colours.SUMMARY_COST},
            width=6,
            guide=Guide(
                shows="What compaction's model calls spend, of what all model calls spend.",
                act="Above a tenth over hours the trigger and the target lie too close together.",
                empty=NO_CALLS,
            ),
        ),
        ranking(
            "Summary cost by agent",
            Query(or_none(f"{economy.cost(AGENT)}", AGENT), each(AGENT)),
            unit=TOKENS,
            colour=colours.SUMMARY_COST,
            width=6,
            guide=Guide(
                shows="What each agent's summaries spent over the whole time range.",
                act="Start with the longest bar, and compare it with that agent's savings.",
                empty=NO_SUMMARIES,
            ),
        ),
    ]


def caches() -> list[Panel]:
    """Return how much of each request a prompt cache could serve, and does."""
    cached, read = _CACHED.where(_TURNS), _INPUT.where(_TURNS)
    return [
        lines(
            "Prefix kept from the call before",
            [
                Query(quantile(0.5, _PREFIX), "median"),
                Query(quantile(0.1, _PREFIX), "10th percentile"),
            ],
            unit=SHARE,
            colours={"median": colours.REQUEST, "10th percentile": colours.NEUTRAL},
            guide=Guide(
                shows="The share of a request that equals the start of the one before, which is "
                "what a provider's prompt cache can serve.",
                act="A pass lowers it once. If it stays low, something changes the start of "
                "every request: see the runbook of LoviaPrefixUnstable.",
                empty=NO_CALLS,
            ),
        ),
        lines(
            "Passes",
            [Query(or_zero(per_minute(_PASSES.count)), "passes")],
            unit=PER_MINUTE,
            stacked=True,
            width=6,
            colours={"passes": colours.NEUTRAL},
            guide=Guide(
                shows="Compaction passes each minute. Each may break the prompt cache once.",
                act="Read it beside the prefix on its left: dips without a pass have another "
                "cause, such as instructions that change.",
                empty=NO_PASSES,
            ),
        ),
        lines(
            "Input that came from the provider's cache",
            [Query(share(cached.value, read.value, MODEL), each(MODEL))],
            unit=SHARE,
            width=6,
            guide=Guide(
                shows="Cached share of the input tokens, as the provider reports it.",
                act="Zero with a high prefix: this provider has no cache, does not report it, or "
                "wants to be asked for it.",
                empty=NO_CALLS,
            ),
        ),
    ]
