"""The four numbers as expressions: history, request, saved, summary cost, and what is left, net.

net = saved - inflated - summary input - summary output, all in tokens

In money, with prompt caches counted, for each currency:

net = saved - inflated - summaries - lost cache reads
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dashboards.promql import CURRENCY, increase, or_zero, or_zero_of, source
from lovia_otel import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboards.promql import Source

HISTORY: Final = source(names.METRIC_HISTORY_SIZE)
REQUEST: Final = source(names.METRIC_REQUEST_SIZE)
SAVED: Final = source(names.METRIC_SAVED_TOKENS)
INFLATED: Final = source(names.METRIC_INFLATED_TOKENS)
SUMMARY_INPUT: Final = source(names.METRIC_SUMMARY_INPUT_TOKENS)
SUMMARY_OUTPUT: Final = source(names.METRIC_SUMMARY_OUTPUT_TOKENS)
MONEY_REQUESTS: Final = source(names.METRIC_COST_REQUEST)
MONEY_SUMMARIES: Final = source(names.METRIC_COST_SUMMARY)
MONEY_SAVED: Final = source(names.METRIC_COST_SAVED)
MONEY_INFLATED: Final = source(names.METRIC_COST_INFLATED)
MONEY_CACHE_LOST: Final = source(names.METRIC_COST_CACHE_LOST)
_SUMMARIES: Final = (SUMMARY_INPUT, SUMMARY_OUTPUT)


def saved(*by: str, grown: Callable[..., str] = increase) -> str:
    """Return the tokens that compaction kept out of model calls, before it paid for itself.

    Args:
        by: Labels to sum by.
        grown: How growth is told: ``increase`` over the time range, or ``rate`` in a second.
    """
    return grown(SAVED.value, *by)


def cost(*by: str, grown: Callable[..., str] = increase) -> str:
    """Return the tokens that compaction's own model calls spent; zero where it made none."""
    gained = saved(*by, grown=grown)
    return " + ".join(_spent(part, gained, *by, grown=grown) for part in _SUMMARIES)


def net(*by: str, grown: Callable[..., str] = increase) -> str:
    """Return what is left of the savings; without a figure for savings there is none for net."""
    gained = saved(*by, grown=grown)
    losses = (_spent(part, gained, *by, grown=grown) for part in (INFLATED, *_SUMMARIES))
    return " - ".join([gained, *losses])


def money(part: Source, *by: str, grown: Callable[..., str] = increase) -> str:
    """Return an amount of money by its currency; zero where requests cost some, and it has none."""
    amount = grown(part.value, CURRENCY, *by)
    if part is MONEY_REQUESTS:
        return amount
    return or_zero_of(amount, grown(MONEY_REQUESTS.value, CURRENCY, *by))


def net_money(*by: str, grown: Callable[..., str] = increase) -> str:
    """Return what is left of the savings in money; without a figure for savings there is none."""
    gained = grown(MONEY_SAVED.value, CURRENCY, *by)
    parts = (MONEY_INFLATED, MONEY_SUMMARIES, MONEY_CACHE_LOST)
    losses = (or_zero_of(grown(part.value, CURRENCY, *by), gained) for part in parts)
    return " - ".join([gained, *losses])


def _spent(part: Source, gained: str, *by: str, grown: Callable[..., str]) -> str:
    """Return what a counter of losses grew by: zero where it never counted anything."""
    lost = grown(part.value, *by)
    return or_zero_of(lost, gained) if by else or_zero(lost)
