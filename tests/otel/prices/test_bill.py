"""What calls cost, and what compaction saved of it, against a conversation that it left alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia_otel.prices import Price
from lovia_otel.prices.bill import Sent, Spent, balance_of, cost_of, lost_tokens

PRICE: Final = Price(input=10, output=40, cache_read=1, cache_write=12)
MILLION: Final = 1_000_000

amounts = st.floats(0, 1_000, allow_subnormal=False)
prices = st.tuples(amounts, amounts, amounts).map(
    lambda p: Price(input=p[0], output=p[1], cache_read=p[0] * p[2] / 1_000, cache_write=p[0])
)
tokens = st.integers(0, 2_000_000)


def exactly(price: float, count: int) -> Fraction:
    """Return what tokens cost, without any rounding."""
    return Fraction(price) * count / MILLION


@given(prices, tokens, tokens, tokens, tokens)
def test_a_call_costs_the_sum_of_its_parts(
    price: Price, fresh: int, read: int, written: int, out: int
) -> None:
    """Each kind of token is paid once, at its own price; floats are right to 12 digits and more."""
    spent = Spent(input=fresh + read + written, output=out, cache_read=read, cache_write=written)
    exact = exactly(price.input, fresh) + exactly(price.cache_read, read)
    exact += exactly(price.cache_write, written) + exactly(price.output, out)
    assert cost_of(spent, price) == pytest.approx(float(exact), rel=1e-12)


def test_caches_larger_than_the_prompt_are_no_credit() -> None:
    """A provider that counts its cache apart from the input does not make the rest negative."""
    spent = Spent(input=100, output=0, cache_read=MILLION)
    assert cost_of(spent, PRICE) == pytest.approx(1.0)


@given(
    price=prices,
    reused=tokens,
    moved=tokens,
    new=tokens,
    kept_out=tokens,
    first=tokens,
    writes=st.booleans(),
)
def test_saved_minus_lost_is_what_compaction_spared(
    *, price: Price, reused: int, moved: int, new: int, kept_out: int, first: int, writes: bool
) -> None:
    """Net of a call is its cost without compaction minus its cost with it, to the cent.

    Without: all but what is new comes out of the cache. With: the reused beginning does, and what
    the cut moved is paid in full; of what is new, some may never be sent.
    """
    first = min(first, new) if moved == 0 else 0
    kept_out += first
    request = reused + moved + new - first
    spent = Spent(input=request, output=0, cache_read=reused, cache_write=int(writes and 1))
    sent = Sent(request=request, saved=kept_out, new=new, reused=reused, cut=True, cache_used=True)
    full = price.cache_write if spent.cache_write else price.input
    without = exactly(price.cache_read, request + kept_out - new) + exactly(full, new)
    with_it = exactly(price.cache_read, reused) + exactly(full, request - reused)
    balance = balance_of(sent, spent, price)
    assert balance.saved is not None
    assert balance.lost is not None
    assert min(balance.saved, balance.lost, balance.inflated) >= 0
    largest = exactly(full, request + kept_out)
    net = balance.saved - balance.lost
    assert net == pytest.approx(float(without - with_it), abs=1e-9 + 1e-12 * float(largest))


@given(
    st.builds(
        Sent,
        request=tokens,
        saved=st.none() | st.integers(-MILLION, MILLION),
        inflated=tokens,
        new=st.none() | tokens,
        reused=st.none() | tokens,
        cut=st.booleans(),
        cache_used=st.booleans(),
    ),
    st.builds(Spent, input=tokens, output=tokens, cache_read=tokens, cache_write=tokens),
)
def test_no_part_of_a_balance_is_negative(sent: Sent, spent: Spent) -> None:
    """Whatever estimates and reports say of each other, parts are zero or more, or unknown."""
    balance = balance_of(sent, spent, PRICE)
    known = [balance.saved, balance.inflated, balance.lost]
    assert all(amount is None or amount >= 0 for amount in known)
    assert (balance.saved is None) == (sent.saved is None)
    full = max(PRICE.input, PRICE.cache_write)
    lost = lost_tokens(sent, spent)
    assert (balance.lost is None) == (lost is None)
    assert (balance.lost or 0) <= (lost or 0) * full / MILLION


def test_what_is_saved_is_priced_as_the_cache_would_have_served_it() -> None:
    """In a warm call what was not sent would have been read; in a cold one, paid in full."""
    sent = Sent(request=1_000, saved=MILLION, new=10, reused=990)
    warm = balance_of(sent, Spent(input=1_000, output=0, cache_read=900), PRICE)
    cold = balance_of(sent, Spent(input=1_000, output=0), PRICE)
    writing = balance_of(sent, Spent(input=1_000, output=0, cache_write=1_000), PRICE)
    assert (warm.saved, cold.saved, writing.saved) == (1.0, 10.0, 12.0)


def test_what_was_never_sent_is_saved_in_full() -> None:
    """A result that is cut as it arrives is in no cache: it is fresh input the first time."""
    sent = Sent(request=500_000, saved=MILLION, new=1_100_000, reused=400_000, cut=True)
    balance = balance_of(sent, Spent(input=500_000, output=0, cache_read=400_000), PRICE)
    assert balance.saved == 10.0
    assert balance.lost == 0


@pytest.mark.parametrize(
    ("told", "lost"),
    [
        ({"cut": True, "cache_used": True}, 600),
        ({"cut": True, "cache_used": False}, 0),
        ({"cut": False, "cache_used": True}, 0),
    ],
    ids=["cut", "no_cache", "not_cut"],
)
def test_a_cut_loses_what_it_moved_where_the_cache_works(told: dict[str, bool], lost: int) -> None:
    """The tail behind the cut and the text in its place are lost; what is new never was there."""
    sent = Sent(request=1_000, saved=5_000, new=100, reused=300, **told)
    assert lost_tokens(sent, Spent(input=1_000, output=0)) == lost


def test_no_more_is_lost_than_was_paid_in_full() -> None:
    """What the provider served from its cache all the same is not lost."""
    sent = Sent(request=1_000, saved=0, new=0, reused=0, cut=True)
    assert lost_tokens(sent, Spent(input=1_000, output=0, cache_read=750)) == 250


def test_without_knowing_what_is_new_nothing_is_said_of_losses() -> None:
    """After a cut, in a call whose new part is unknown, losses are unknown; savings are not."""
    sent = Sent(request=1_000, saved=MILLION, cut=True, cache_used=True)
    balance = balance_of(sent, Spent(input=1_000, output=0), PRICE)
    assert (balance.saved, balance.lost) == (1.0, None)
