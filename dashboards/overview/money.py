"""What calls and summaries cost in money, and what compaction leaves of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards import colours, economy
from dashboards.frame import COUNT, Guide
from dashboards.panels import Column, Query, each, lines, ranking, rows
from dashboards.promql import AGENT, CURRENCY, MODEL, increase, or_none, rate, source
from dashboards.words import NO_PRICES
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

_UNPRICED: Final = source(names.METRIC_UNPRICED_CALLS)
_HOUR: Final = 3_600  # seconds


def money() -> list[Panel]:
    """Return the numbers of the rows above in money, prompt caches counted."""
    return [_costs(), _net(), _by_agent(), _unpriced()]


def _costs() -> Panel:
    return lines(
        "Cost of requests and of summaries, an hour",
        [
            _an_hour(economy.money(economy.MONEY_REQUESTS, grown=rate), "Requests"),
            _an_hour(economy.money(economy.MONEY_SUMMARIES, grown=rate), "Summaries"),
        ],
        unit=COUNT,
        colours={"Requests": colours.REQUEST, "Summaries": colours.SUMMARY_COST},
        guide=Guide(
            shows="What model calls cost at this pace, by the provider's own counts and the "
            "table of prices: those of turns, and compaction's own.",
            act="Compare it with your bill: if they differ, the table is not up to date.",
            empty=NO_PRICES,
        ),
    )


def _net() -> Panel:
    return lines(
        "Saved, lost cache reads and net in money, an hour",
        [
            _an_hour(economy.money(economy.MONEY_SAVED, grown=rate), "Saved"),
            _an_hour(economy.money(economy.MONEY_CACHE_LOST, grown=rate), "Lost cache reads"),
            _an_hour(economy.net_money(grown=rate), "Net"),
        ],
        unit=COUNT,
        colours={
            "Saved": colours.SAVED,
            "Lost cache reads": colours.TROUBLE,
            "Net": colours.NET,
        },
        guide=Guide(
            shows="What the tokens would have cost that were not sent, at the cache's price where "
            "it would have served them; what passes took from the cache; and what is left "
            "after summaries, too.",
            act="Judge the net over hours. Below zero with a net of tokens above it: the cache "
            "makes history cheap, so compact later and less often.",
            empty=NO_PRICES,
        ),
    )


def _by_agent() -> Panel:
    parts = {
        "Requests": (economy.MONEY_REQUESTS, colours.REQUEST),
        "Saved": (economy.MONEY_SAVED, colours.SAVED),
        "Growth": (economy.MONEY_INFLATED, colours.TROUBLE),
        "Summaries": (economy.MONEY_SUMMARIES, colours.SUMMARY_COST),
        "Lost cache reads": (economy.MONEY_CACHE_LOST, colours.TROUBLE),
    }
    columns = [
        Column(head, economy.money(part, AGENT), COUNT, colour)
        for head, (part, colour) in parts.items()
    ]
    columns.append(Column("Net", economy.net_money(AGENT), COUNT, colours.NET))
    return rows(
        "Money by agent",
        {AGENT: "Agent", CURRENCY: "Currency"},
        columns,
        width=16,
        guide=Guide(
            shows="What each agent's calls cost over the whole time range, and what compaction "
            "did to that: saved, minus growth, summaries and lost cache reads, is the net.",
            act="An agent that loses more cache reads than it saves compacts too often: give it "
            "a higher trigger and a lower target.",
            empty=NO_PRICES,
        ),
    )


def _unpriced() -> Panel:
    return ranking(
        "Calls of models without a price",
        Query(or_none(increase(_UNPRICED.value, MODEL), MODEL), each(MODEL)),
        unit=COUNT,
        colour=colours.NEUTRAL,
        guide=Guide(
            shows="Model calls that are in no amount here, since the table has no price for them.",
            act="Add these models to the table of prices.",
            empty="Every model has a price, or no prices are given",
        ),
    )


def _an_hour(expr: str, label: str) -> Query:
    return Query(f"{_HOUR} * ({expr})", f"{label} {each(CURRENCY)}")
