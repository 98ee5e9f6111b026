"""What one model call costs, and what compaction saved of it: arithmetic, and nothing else.

The counterfactual is the same call in a conversation that was never compacted: it sends
``saved - inflated`` more tokens (see :class:`~lovia_otel.ChatSizes`), all of them served from the
cache if the cache works, but for what is new in the conversation. The difference in money is

    saved - inflated - lost

to which the cost of summaries comes. Each of these is zero or more:

- *saved*: what the tokens that are not sent would have cost. Out of the cache where it works, but
  in full what would have been sent for the first time;
- *inflated*: what the tokens cost that are sent although the history has no such thing;
- *lost*: the cut moved what follows it, and put other text in its place. These tokens would have
  come out of the cache and are paid in full: the difference.

Tokens of the request are estimates, so these three are; what the call itself costs comes of the
provider's own counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lovia_otel.prices.tariff import Price


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What the provider reports of one call, in tokens; the cache's are part of the input."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What one call sends, in tokens by the estimate.

    ``saved`` and ``inflated`` are as in the metrics of these names. ``new`` is what came to the
    conversation since the call before and ``reused`` what begins like that call's request
    (``None``: unknown, as in the first call of a run). ``cut``: the view was cut anew for this
    call. ``cache_used``: the call before it read from or wrote to the provider's cache.
    """

    request: int
    saved: int | None
    inflated: int = 0
    new: int | None = None
    reused: int | None = None
    cut: bool = False
    cache_used: bool = False


@dataclass(frozen=True, kw_only=True)
class Balance:
    """What compaction did to the cost of one call; ``None``: there is no figure."""

    saved: float | None
    inflated: float
    lost: float | None


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What one call costs in a currency, and what compaction did to that, where it sent a view."""

    currency: str
    cost: float
    balance: Balance | None


def cost_of(spent: Spent, price: Price) -> float:
    """Return what a call costs by the provider's own counts."""
    fresh = max(0, spent.input - spent.cache_read - spent.cache_write)
    return (
        price.of_input(fresh)
        + price.of_read(spent.cache_read)
        + price.of_written(spent.cache_write)
        + price.of_output(spent.output)
    )


def lost_tokens(sent: Sent, spent: Spent) -> int | None:
    """Return how many tokens a pass kept from coming out of the cache in this call.

    That is what the request holds besides its reused beginning and what is new: the entries behind
    the cut, and the text that stands for what left. ``None``: it is not known what is new.
    """
    if not (sent.cut and _is_warm(sent, spent)):
        return 0
    if sent.new is None or sent.reused is None:
        return None
    moved = sent.request - sent.new - sent.reused
    return max(0, min(moved, spent.input - spent.cache_read))


def balance_of(sent: Sent, spent: Spent, price: Price) -> Balance:
    """Return what compaction did to the cost of a call."""
    full = price.of_written if spent.cache_write else price.of_input
    known, lost = price.of_read if _is_warm(sent, spent) else full, lost_tokens(sent, spent)
    saved = None
    if sent.saved is not None:
        kept_out = max(0, sent.saved)
        first = _first_time(sent, kept_out)
        saved = known(kept_out - first) + full(first)
    return Balance(
        saved=saved,
        inflated=known(sent.inflated),
        lost=None if lost is None else max(0.0, full(lost) - price.of_read(lost)),
    )


def _is_warm(sent: Sent, spent: Spent) -> bool:
    """Does the provider's cache work for this conversation?

    It does where it served some of the call. A cut may leave it nothing to serve: then the call
    before tells.
    """
    return spent.cache_read > 0 or (sent.cut and sent.cache_used)


def _first_time(sent: Sent, kept_out: int) -> int:
    """Return how many of the tokens that were kept out are new: no cache could have held them."""
    if sent.new is None or sent.reused is None:
        return 0
    return min(kept_out, max(0, sent.new + sent.reused - sent.request))
