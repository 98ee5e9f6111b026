"""Reading a table of prices from a file, TOML or JSON.

In TOML, with the prices of a million tokens; what is missing of the cache costs as input does::

    currency = "USD"

    [prices.openai."gpt-5"]
    input = 1.25
    output = 10
    cache_read = 0.125
    cache_write = 1.25
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lovia_otel.errors import PriceTableError
from lovia_otel.prices.tariff import Price, PriceTable

if TYPE_CHECKING:
    import os

_REQUIRED: Final = ("input", "output")
_OPTIONAL: Final = ("cache_read", "cache_write")  # as input, where a provider asks the same
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


def read_prices(file: str | os.PathLike[str]) -> PriceTable:
    """Read a table of prices; a name that ends in ``.json`` is read as JSON, any other as TOML.

    Raises:
        PriceTableError: The file cannot be read, or something in it is no price; the error names
            the place.
    """
    path = Path(file)
    return _Reader(path).table(_parsed(path))


def _parsed(path: Path) -> object:
    is_json = path.suffix.lower() == ".json"
    try:
        text = path.read_text("utf-8")
        return json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except OSError as error:
        problem, hint = error.strerror or type(error).__name__, "name a file that can be read"
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        problem = f"cannot be read as {'JSON' if is_json else 'TOML'}: {error}"
        hint = "a name that ends in .json is JSON, any other TOML"
    raise PriceTableError(str(path), "", problem, hint=hint)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, as TOML does: no key twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return made


class _Reader:
    """Checks what was read, and knows where it is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def table(self, data: object) -> PriceTable:
        known = self._keys(data, "", ("currency", "prices"))
        currency = known.get("currency")
        if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
            raise self._wrong("currency", f"{currency!r} is no currency", "for example USD")
        prices = {
            provider: {
                model: self._price(price, f"prices.{provider}.{model}")
                for model, price in self._mapping(models, f"prices.{provider}").items()
            }
            for provider, models in self._mapping(known.get("prices"), "prices").items()
        }
        return PriceTable(currency, prices)

    def _price(self, data: object, place: str) -> Price:
        given = self._keys(data, place, (*_REQUIRED, *_OPTIONAL))
        amounts = {key: self._amount(given[key], f"{place}.{key}") for key in given}
        for key in _REQUIRED:
            if key not in amounts:
                raise self._wrong(place, f"has no {key!r}", "input and output must be there")
        return Price(**dict.fromkeys(_OPTIONAL, amounts["input"]) | amounts)

    def _amount(self, value: object, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(place, f"{value!r} is no number", "the price of a million tokens")
        try:
            amount = float(value)
        except OverflowError:
            amount = math.inf
        if not math.isfinite(amount) or amount < 0:
            raise self._wrong(place, f"{amount} is no price", "zero or more")
        return amount

    def _keys(self, data: object, place: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
        found = self._mapping(data, place)
        for key in found:
            if key not in allowed:
                where = f"{place}.{key}" if place else key
                raise self._wrong(where, "is not known here", f"use {', '.join(allowed)}")
        return found

    def _mapping(self, data: object, place: str) -> Mapping[str, Any]:
        if not isinstance(data, Mapping):
            problem = "is missing" if data is None else f"{data!r:.60} is no table"
            raise self._wrong(place, problem, "provider, then model, then prices")
        return data

    def _wrong(self, place: str, problem: str, hint: str) -> PriceTableError:
        return PriceTableError(str(self._path), place, problem, hint=hint)
