"""Money beside tokens: what model calls and summaries cost, and what compaction saves of it.

Nothing here has a figure until an application names its prices: by ``configure(prices=...)``, by
:func:`set_prices`, or in the environment. A model without a price has no figure either.
"""

from __future__ import annotations

from lovia_otel.prices.current import set_prices
from lovia_otel.prices.tariff import Price, PriceSource, PriceTable, Tariff

__all__ = ["Price", "PriceSource", "PriceTable", "Tariff", "set_prices"]
