"""The public list of prices, as the package behind it has it."""

from __future__ import annotations

import sys

import pytest
from genai_prices import Usage, calc_price

from lovia_otel import MissingPricesError
from lovia_otel.prices.bill import Spent, cost_of
from lovia_otel.prices.public import PublicPrices


@pytest.mark.parametrize(
    ("provider", "model", "listed_as"),
    [
        ("openai", "gpt-5", "openai"),
        ("openai", "gpt-4o-mini-2024-07-18", "openai"),
        ("anthropic", "claude-sonnet-4-5", "anthropic"),
        ("gcp.gemini", "gemini-2.5-pro", "google"),
    ],
)
@pytest.mark.parametrize("tokens", [1_000, 200_000, 200_001, 900_000])
def test_a_call_costs_what_the_package_says(
    provider: str, model: str, listed_as: str, tokens: int
) -> None:
    """Our arithmetic on its prices gives its own result, in each tier, caches included."""
    tariff = PublicPrices().tariff(provider, model)
    assert tariff is not None
    read = tokens // 2
    spent = Spent(input=tokens, output=500, cache_read=read)
    usage = Usage(input_tokens=tokens, output_tokens=500, cache_read_tokens=read)
    theirs = calc_price(usage, model, provider_id=listed_as).total_price
    assert cost_of(spent, tariff.at(tokens)) == pytest.approx(float(theirs))


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "no such model"), ("nobody", "gpt-5"), ("", "")]
)
def test_what_is_not_listed_has_no_price(provider: str, model: str) -> None:
    """An unknown provider or model is no guess."""
    assert PublicPrices().tariff(provider, model) is None


def test_two_lists_are_the_same() -> None:
    """Configuring twice with the list is configuring with the same."""
    assert PublicPrices() == PublicPrices()
    assert len({PublicPrices(), PublicPrices()}) == 1


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed, it says what to install."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingPricesError, match=r"lovia-otel\[prices\]"):
        PublicPrices()
