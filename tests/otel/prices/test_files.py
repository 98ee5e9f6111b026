"""Files of prices: two notations, and errors that name the place."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_otel import Price, PriceTable, PriceTableError
from lovia_otel.prices.files import read_prices

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
currency = "USD"

[prices.openai."gpt-5"]
input = 1.25
output = 10
cache_read = 0.125

[prices.anthropic]
"claude-*" = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }
"""
TABLE = PriceTable(
    "USD",
    {
        "openai": {"gpt-5": Price(1.25, 10, 0.125, 1.25)},
        "anthropic": {"claude-*": Price(3, 15, 0.3, 3.75)},
    },
)


def written(folder: Path, text: str, name: str = "prices.toml") -> Path:
    """Write a file of prices."""
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def test_both_notations_give_the_same_table(tmp_path: Path) -> None:
    """TOML and JSON say the same; what is missing of the cache costs as input does."""
    as_json = {
        "currency": "USD",
        "prices": {
            "openai": {"gpt-5": {"input": 1.25, "output": 10, "cache_read": 0.125}},
            "anthropic": {
                "claude-*": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
            },
        },
    }
    assert read_prices(written(tmp_path, TOML)) == TABLE
    assert read_prices(str(written(tmp_path, json.dumps(as_json), "prices.JSON"))) == TABLE


def one(**price: Any) -> dict[str, Any]:
    """Return a table with one price."""
    return {"currency": "USD", "prices": {"openai": {"gpt-5": price}}}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], ""),
        ({}, "currency"),
        ({"currency": "dollars", "prices": {}}, "currency"),
        ({"currency": 1, "prices": {}}, "currency"),
        ({"currency": "USD"}, "prices"),
        ({"currency": "USD", "prices": {}, "price": 1}, "price"),
        ({"currency": "USD", "prices": []}, "prices"),
        ({"currency": "USD", "prices": {"openai": 1}}, "prices.openai"),
        ({"currency": "USD", "prices": {"openai": {"gpt-5": 1}}}, "prices.openai.gpt-5"),
        (one(input=1), "prices.openai.gpt-5"),
        (one(input=1, output=1, cached=1), "prices.openai.gpt-5.cached"),
        (one(input=-1, output=1), "prices.openai.gpt-5.input"),
        (one(input="1", output=1), "prices.openai.gpt-5.input"),
        (one(input=1, output=True), "prices.openai.gpt-5.output"),
        (one(input=1, output=float("nan")), "prices.openai.gpt-5.output"),
        (one(input=1, output=10**400), "prices.openai.gpt-5.output"),
        (one(input=1, output=1, cache_read=None), "prices.openai.gpt-5.cache_read"),
    ],
)
def test_what_is_no_price_is_refused_by_its_place(tmp_path: Path, data: Any, place: str) -> None:
    """The error names the file and the keys that lead to what is wrong, and says what to do."""
    file = written(tmp_path, json.dumps(data), "prices.json")
    with pytest.raises(PriceTableError) as caught:
        read_prices(file)
    assert (caught.value.file, caught.value.place) == (str(file), place)
    assert str(caught.value).startswith(f"{file}: {place}" if place else f"{file}: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.toml", b"currency = USD", "line 1"),
        ("p.toml", b"a = 1\na = 2", "as TOML: Cannot overwrite a value"),
        ("p.json", b"{", "line 1"),
        ("p.json", b'{"currency": "USD", "currency": "EUR"}', "'currency' is there twice"),
        ("p.json", b"[" * 100_000, "as JSON"),
        ("p.toml", b"\xff\xfe", "utf-8"),
        ("p.json", b"", "line 1"),
    ],
)
def test_what_is_no_file_of_prices_is_refused(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    """Broken notation is told with its line, and so is a key that is there twice."""
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(PriceTableError, match=says) as caught:
        read_prices(file)
    assert caught.value.place == ""


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """No file, and a folder in its place, are told as such."""
    with pytest.raises(PriceTableError, match="No such file"):
        read_prices(tmp_path / "none.toml")
    with pytest.raises(PriceTableError, match="directory"):
        read_prices(tmp_path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.dictionaries(
            st.sampled_from(["currency", "prices", "input", "output", "openai", "x"]), inner
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_table_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    """Whatever a file holds, it is read, or refused with the one error."""
    file = tmp_path_factory.mktemp("prices") / "prices.json"
    file.write_text(json.dumps(data), "utf-8")
    with suppress(PriceTableError):
        assert isinstance(read_prices(file), PriceTable)
