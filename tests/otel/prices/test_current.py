"""Which prices are in force, where they come from, and what is said of unknown models."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lovia_otel import Price, PriceTable, PriceTableError, configure, names, set_prices
from lovia_otel.prices import current
from lovia_otel.prices.bill import Spent
from lovia_otel.prices.current import current_prices, source_of
from lovia_otel.prices.public import PublicPrices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lovia_otel.prices import PriceSource

TABLE = PriceTable("USD", {"p": {"m": Price(1, 2, 3, 4)}})
TEXT = 'currency = "USD"\nprices.p.m = {input=1, output=2, cache_read=3, cache_write=4}\n'
BAD = 'currency = "USD"\nprices.p.m = {input=1}\n'


@pytest.fixture(autouse=True)
def _prices_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(names.ENV_PRICES, raising=False)
    before = current_prices()
    yield
    current.restore_prices(current_prices(), before)


def source() -> PriceSource | None:
    """Return the source of the prices in force."""
    prices = current_prices()
    return None if prices is None else prices.source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write the table to a file."""
    path = tmp_path / "prices.toml"
    path.write_text(TEXT)
    return path


def test_prices_come_from_a_file_a_list_or_an_object(file: Path) -> None:
    """A path is read, the list's name loads it, and an object is used as it is."""
    assert source_of(file) == TABLE
    assert source_of(str(file)) == TABLE
    assert source_of("genai-prices") == PublicPrices()
    assert source_of(TABLE) is TABLE
    assert source_of(None) is None


def test_the_environment_names_prices_where_nobody_else_does(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable counts when no argument is given; an empty one is none."""
    monkeypatch.setenv(names.ENV_PRICES, str(file))
    set_prices(None)
    assert source() == TABLE
    other = PriceTable("EUR")
    set_prices(other)
    assert source() is other
    monkeypatch.setenv(names.ENV_PRICES, "")
    set_prices(None)
    assert current_prices() is None


def test_configure_puts_prices_in_force_and_takes_them_back(file: Path, tmp_path: Path) -> None:
    """They hold as long as the configuration does; the same file again is the same settings."""
    out = tmp_path / "trace.jsonl"
    with configure(file=out, prices=file, set_global=False) as handle:
        assert source() == TABLE
        assert configure(file=out, prices=str(file), set_global=False) is handle
        file.write_text(TEXT.replace("input=1", "input=9"))
        changed = configure(file=out, prices=file, set_global=False)
        assert changed is not handle
        assert source() != TABLE
        changed.shutdown()
    assert current_prices() is None


def test_configure_refuses_bad_prices(tmp_path: Path) -> None:
    """A bad table is an error of the caller, and nothing is set up."""
    bad = tmp_path / "bad.toml"
    bad.write_text(BAD)
    with pytest.raises(PriceTableError, match=r"prices\.p\.m"):
        configure(file=tmp_path / "trace.jsonl", prices=bad, set_global=False)
    assert current_prices() is None


def test_an_unknown_model_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """One warning a model, however often it is called, and with a hostile name too."""
    set_prices(TABLE)
    prices = current_prices()
    assert prices is not None
    spent = Spent(input=1, output=1)
    with caplog.at_level(logging.WARNING, "lovia_otel"):
        for model in ("m", "x", "x", "\ud800" * 9_999, "\ud800" * 9_999):
            bill = prices.bill("p", model, spent, None)
            assert (bill is None) == (model != "m")
    assert len(caplog.messages) == 2
    assert "'p x'" in caplog.messages[0]
    assert len(caplog.messages[1]) < 250


def test_what_is_remembered_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """A stream of made-up names fills neither memory nor log, and known models keep their price."""
    set_prices(TABLE)
    prices = current_prices()
    assert prices is not None
    with caplog.at_level(logging.WARNING, "lovia_otel"):
        for number in range(current.MOST_MODELS + 50):
            assert prices.tariff("p", f"made up {number}") is None
    assert len(caplog.messages) == current.MOST_MODELS
    assert prices.tariff("p", "m") is not None


@pytest.mark.parametrize(("text", "says"), [(TEXT, "True"), (BAD, "None")])
def test_a_program_begins_with_the_prices_of_its_environment(
    tmp_path: Path, text: str, says: str
) -> None:
    """They are read at import; a table that is wrong is told by its place, and breaks nothing."""
    table = tmp_path / "prices.toml"
    table.write_text(text)
    program = (
        "from lovia_otel.prices.current import current_prices as now;"
        "print(now() and now().tariff('p', 'm') is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, names.ENV_PRICES: str(table)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == says
    assert ("prices.p.m: has no 'output'" in done.stderr) == (text == BAD)
