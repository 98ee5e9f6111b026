"""Between a model call's facts and the arithmetic of its price, and what several calls cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia_otel import names
from lovia_otel.prices.bill import Bill, Sent, Spent

if TYPE_CHECKING:
    from lovia_otel.facts import Facts
    from lovia_otel.spans.chat import ChatScope

# What a call's cost is called, by what the call was for.
_COST_BY_PURPOSE: Final = {
    names.PURPOSE_TURN: names.COST_REQUEST,
    names.PURPOSE_SUMMARIZE: names.COST_SUMMARY,
}


def spent_of(facts: Facts) -> Spent | None:
    """Return what the provider reported of a call; one that reports nothing has no cost."""
    asked = facts.get(names.USAGE_INPUT_TOKENS)
    if not isinstance(asked, int):
        return None
    return Spent(
        input=asked,
        output=_count(facts, names.USAGE_OUTPUT_TOKENS),
        cache_read=_count(facts, names.USAGE_CACHE_READ),
        cache_write=_count(facts, names.USAGE_CACHE_WRITE),
    )


def _count(facts: Facts, key: str) -> int:
    count = facts.get(key)
    return count if isinstance(count, int) else 0


def sent_by(call: ChatScope) -> Sent | None:
    """Return what a call sends; without a known size there is nothing to say."""
    sizes, share = call.sizes, call.prefix_reused
    if sizes is None or sizes.request is None:
        return None
    return Sent(
        request=sizes.request,
        saved=sizes.saved,
        inflated=sizes.inflated,
        new=sizes.new,
        reused=None if share is None else round(share * sizes.request),
        cut=call.view == names.VIEW_COMPACTED,
        cache_used=call.cache_used,
    )


def amounts_of(bill: Bill, purpose: str) -> dict[str, float]:
    """Return the amounts of a bill by their names; unknown ones, and growth of nothing, are not."""
    amounts = {_COST_BY_PURPOSE.get(purpose, names.COST_REQUEST): bill.cost}
    balance = bill.balance
    if balance is not None:
        known = {
            names.COST_SAVED: balance.saved,
            names.COST_CACHE_LOST: balance.lost,
            names.COST_INFLATED: balance.inflated or None,
        }
        amounts |= {name: amount for name, amount in known.items() if amount is not None}
    return amounts


class Till:
    """Adds up what model calls cost. What is in another currency than the first is left out."""

    def __init__(self) -> None:
        self._costs: dict[str, float] = {}
        self._currency: str | None = None

    def add(self, purpose: str, amount: float, currency: str) -> None:
        """Add what a call for this purpose cost."""
        self._currency = self._currency or currency
        key = _COST_BY_PURPOSE.get(purpose, names.COST_REQUEST)
        if currency == self._currency:
            self._costs[key] = self._costs.get(key, 0.0) + amount

    def facts(self) -> dict[str, object]:
        """Return the sums as attributes; none when no call had a cost."""
        return {**self._costs, names.COST_CURRENCY: self._currency} if self._costs else {}
