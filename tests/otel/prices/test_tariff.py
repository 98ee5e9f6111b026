"""Tables: which price is whose."""

from __future__ import annotations

from typing import Final

import pytest

from lovia_otel import Price, PriceTable
from lovia_otel.prices import Tariff

TABLE: Final = PriceTable(
    "EUR",
    {
        "openai": {
            "gpt-5": Price(1, 1, 1, 1),
            "gpt-5*": Price(2, 2, 2, 2),
            "gpt-5-mini*": Price(3, 3, 3, 3),
        },
        "local": {"*": Price(0, 0, 0, 0)},
    },
)


@pytest.mark.parametrize(
    ("provider", "model", "price"),
    [
        ("openai", "gpt-5", 1),
        ("openai", "gpt-5-2025-08-07", 2),
        ("openai", "gpt-5-mini-2025-08-07", 3),
        ("openai", "GPT-5", None),
        ("openai", "gpt-4", None),
        ("anthropic", "gpt-5", None),
        ("local", "anything", 0),
        ("", "", None),
    ],
)
def test_a_model_has_its_own_price_or_that_of_the_longest_name(
    provider: str, model: str, price: float | None
) -> None:
    """An exact name comes first, then the longest that ends with a star; else there is no price."""
    tariff = TABLE.tariff(provider, model)
    assert (None if tariff is None else tariff.at(10).input) == price


@pytest.mark.parametrize(("tokens", "price"), [(0, 1), (200_000, 1), (200_001, 2), (9**9, 3)])
def test_a_large_request_has_its_own_price(tokens: int, price: float) -> None:
    """Above a limit the whole request has the other price; at the limit it has not."""
    base, more, most = (Price(n, n, n, n) for n in (1, 2, 3))
    tariff = Tariff(base, ((200_000, more), (1_000_000, most)))
    assert tariff.at(tokens).input == price
