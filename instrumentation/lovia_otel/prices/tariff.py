"""Prices: of tokens, by the model that reads or writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

_PER: Final = 1_000_000  # prices are those of so many tokens
_ANY: Final = "*"  # ends a model's name that stands for all that begin like it


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in the currency of the table.

    ``cache_read`` are input tokens that came from the provider's cache, ``cache_write`` those that
    it charges for writing there. Amounts are floats, as OpenTelemetry's are: right to 15 digits,
    for reading and comparing; they are no invoice.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of_input(self, tokens: float) -> float:
        """Return what so many fresh input tokens cost."""
        return tokens * self.input / _PER

    def of_output(self, tokens: float) -> float:
        """Return what so many output tokens cost."""
        return tokens * self.output / _PER

    def of_read(self, tokens: float) -> float:
        """Return what so many tokens out of the cache cost."""
        return tokens * self.cache_read / _PER

    def of_written(self, tokens: float) -> float:
        """Return what so many tokens cost that are written to the cache."""
        return tokens * self.cache_write / _PER


@dataclass(frozen=True)
class Tariff:
    """The prices of one model: ``base``, and dearer or cheaper ones for large requests.

    ``above`` are pairs, ascending, of a number of input tokens and the price of a whole request
    that has more of them.
    """

    base: Price
    above: tuple[tuple[int, Price], ...] = ()

    def at(self, input_tokens: int) -> Price:
        """Return the price of a request with so many input tokens."""
        price = self.base
        for tokens, dearer in self.above:
            if input_tokens > tokens:
                price = dearer
        return price


class PriceSource(Protocol):
    """Whatever knows prices. It is asked once for each model, in the middle of a run."""

    @property
    def currency(self) -> str:
        """The currency of all prices, as ISO 4217 names it: ``USD``."""

    def tariff(self, provider: str, model: str) -> Tariff | None:
        """Return the prices of a model, or ``None`` when they are not known."""


@dataclass(frozen=True)
class PriceTable:
    """Prices in one currency, so that costs can be taken off savings.

    Attributes:
        currency: As ISO 4217 names it: ``USD``.
        prices: By provider (``gen_ai.provider.name``), by model (``gen_ai.request.model``); a name
            of a model that ends with ``*`` is the price of all that begin like it and have none of
            their own, the longest name first.
    """

    currency: str
    prices: Mapping[str, Mapping[str, Price]] = field(default_factory=dict)

    def tariff(self, provider: str, model: str) -> Tariff | None:
        """Return the prices of a model, or ``None`` when the table has none."""
        models = self.prices.get(provider, {})
        if model in models:
            return Tariff(models[model])
        begin = [name for name in models if name.endswith(_ANY) and model.startswith(name[:-1])]
        return Tariff(models[max(begin, key=len)]) if begin else None
