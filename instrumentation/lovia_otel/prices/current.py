"""Which prices are in force, and what they say of a model."""

from __future__ import annotations

import logging
import os
from typing import Final

from lovia_otel import names
from lovia_otel.errors import TelemetryError
from lovia_otel.facts import clean_text
from lovia_otel.prices.bill import Bill, Sent, Spent, balance_of, cost_of
from lovia_otel.prices.files import read_prices
from lovia_otel.prices.public import NAME, PublicPrices
from lovia_otel.prices.tariff import PriceSource, Tariff

Prices = str | os.PathLike[str] | PriceSource | None  # a file, the public list, a source of prices

MOST_MODELS: Final = 1_000  # whose prices are remembered; a name may come from anywhere

_log = logging.getLogger("lovia_otel")


def source_of(prices: Prices) -> PriceSource | None:
    """Return where prices come from: ``genai-prices``, a file's path, or a source as it is.

    ``None`` is what the environment names, if anything.

    Raises:
        PriceTableError: The file has no prices that can be used.
        MissingPricesError: ``genai-prices`` is not installed.
    """
    named = os.environ.get(names.ENV_PRICES) if prices is None else prices
    if not named:
        return None
    if named == NAME:
        return PublicPrices()
    return read_prices(named) if isinstance(named, str | os.PathLike) else named


class CurrentPrices:
    """Prices that are in force, with what was asked of them so far."""

    def __init__(self, source: PriceSource) -> None:
        self.source = source
        self._known: dict[tuple[str, str], Tariff | None] = {}

    def bill(self, provider: str, model: str, spent: Spent, sent: Sent | None) -> Bill | None:
        """Return what a call costs, or ``None``: no price is known of the model."""
        tariff = self.tariff(provider, model)
        if tariff is None:
            return None
        price = tariff.at(spent.input)
        balance = None if sent is None else balance_of(sent, spent, price)
        return Bill(currency=self.source.currency, cost=cost_of(spent, price), balance=balance)

    def tariff(self, provider: str, model: str) -> Tariff | None:
        """Return the prices of a model; of one that has none it is said, once."""
        key = (provider, model)
        if key in self._known:
            return self._known[key]
        found = self.source.tariff(provider, model)
        if len(self._known) >= MOST_MODELS:
            return found
        self._known[key] = found
        if found is None:
            what = clean_text(f"{provider} {model}", 120)
            _log.warning("no price is known of %r: its calls have no cost", what)
        return found


class _Current:
    """The prices in force. One for the process, since worker threads must see them too."""

    def __init__(self) -> None:
        self.prices: CurrentPrices | None = None


_current = _Current()


def current_prices() -> CurrentPrices | None:
    """Return the prices in force, or ``None`` when nobody has named any."""
    return _current.prices


def set_prices(prices: Prices) -> None:
    """Use these prices from now on, in every thread, where ``configure`` is not called.

    Args:
        prices: A file's path, ``"genai-prices"``, or an object with prices; ``None``: what the
            variable ``LOVIA_OTEL_PRICES`` names, if anything.

    Raises:
        PriceTableError: The file has no prices that can be used.
        MissingPricesError: ``genai-prices`` is not installed.
    """
    replace_prices(source_of(prices))


def replace_prices(source: PriceSource | None) -> tuple[CurrentPrices | None, CurrentPrices | None]:
    """Put prices in force; return them, and those that were."""
    previous, mine = _current.prices, None if source is None else CurrentPrices(source)
    _current.prices = mine
    return mine, previous


def restore_prices(mine: CurrentPrices | None, previous: CurrentPrices | None) -> None:
    """Put ``previous`` back in force, unless somebody else has replaced ``mine`` since."""
    if _current.prices is mine:
        _current.prices = previous


def _use_environment() -> None:
    """Begin with the prices that the environment names; a table that is wrong is said and unused.

    This is done at import, since reading a file in the middle of a run would hold it up.
    """
    try:
        set_prices(None)
    except TelemetryError as error:
        _log.warning("%s: %s", names.ENV_PRICES, error)


_use_environment()
