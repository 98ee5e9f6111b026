"""The list prices that the package ``genai-prices`` carries, in US dollars.

It is an extra, ``lovia-otel[prices]``, and takes seconds to load: do so before a run. What it knows
is as old as its version; nothing is fetched.
"""

from __future__ import annotations

from typing import Any, Final

from lovia_otel.errors import MissingPricesError
from lovia_otel.prices.tariff import Price, Tariff

NAME: Final = "genai-prices"

# What telemetry calls a provider, where that list has another name for it.
_OTHER_NAMES: Final = {
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "aws.bedrock": "aws",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
}


class PublicPrices:
    """Prices by that package, for every model that it knows. Two of these are equal.

    Raises:
        MissingPricesError: The package is not installed.
    """

    currency: str = "USD"

    def __init__(self) -> None:
        try:
            import genai_prices
        except ModuleNotFoundError as error:
            raise MissingPricesError(
                f"the list prices need genai-prices: {error.name} is not installed",
                hint="pip install 'lovia-otel[prices]'",
            ) from error
        self._library: Any = genai_prices
        self.tariff("openai", "gpt-4o")  # loads the list, which takes a second

    def tariff(self, provider: str, model: str) -> Tariff | None:
        """Return the prices of a model today, or ``None`` when the list has none."""
        usage = self._library.Usage(input_tokens=0, output_tokens=0)
        try:
            found = self._library.calc_price(
                usage, model, provider_id=_OTHER_NAMES.get(provider, provider)
            )
        except LookupError:
            return None
        return _tariff_of(found.model_price)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicPrices)

    def __hash__(self) -> int:
        return hash(PublicPrices)


def _tariff_of(listed: Any) -> Tariff | None:
    names = ("input", "output", "cache_read", "cache_write")
    amounts = [getattr(listed, f"{name}_mtok", None) for name in names]
    if amounts[0] is None or amounts[1] is None:
        return None
    starts = sorted({tier.start for amount in amounts for tier in getattr(amount, "tiers", ())})
    return Tariff(_at(amounts, 0), tuple((start, _at(amounts, start + 1)) for start in starts))


def _at(amounts: list[Any], input_tokens: int) -> Price:
    """Return the prices of a request with so many input tokens."""
    known = [_amount(amount, input_tokens) for amount in amounts]
    fresh = known[0] or 0.0
    read, written = (fresh if amount is None else amount for amount in known[2:])
    return Price(fresh, known[1] or 0.0, read, written)


def _amount(listed: Any, input_tokens: int) -> float | None:
    if listed is None:
        return None
    amount = getattr(listed, "base", listed)
    for tier in getattr(listed, "tiers", ()):
        if input_tokens > tier.start:
            amount = tier.price
    return float(amount)
