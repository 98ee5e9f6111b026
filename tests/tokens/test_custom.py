"""Counters of the user's own."""

from __future__ import annotations

import functools
import gc
from typing import TYPE_CHECKING, Any

import pytest

from lovia.errors import ProviderError, UserError
from lovia.tokens import ByteCounter, TiktokenCounter, as_counter, counter_for, custom
from lovia.transcript.entries import InputEntry, ToolResultEntry, TranscriptEntry, memo, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ENTRIES: list[TranscriptEntry] = [
    InputEntry("user", "four words are here"),
    ToolResultEntry("c1", "and here are five more"),
]


class CountingProvider:
    """A provider that counts words, three tokens around each request."""

    model = None

    def __init__(self) -> None:
        self.calls = 0

    def count_tokens(self, entries: list[TranscriptEntry]) -> int:
        """Count words of all entries."""
        self.calls += 1
        return 3 + sum(len(text_of(entry).split()) for entry in entries)


class OwnCounter:
    """A user's own implementation of the protocol; everything has `size` tokens."""

    source = "tokenizer"

    def __init__(self, size: Any = 7) -> None:
        self.size = size
        self.calls = 0

    def text(self, text: str) -> int:
        """Size a text."""
        return self._count()

    def entry(self, entry: TranscriptEntry) -> int:
        """Size an entry."""
        return self._count()

    def entries(self, entries: Iterable[TranscriptEntry]) -> int:
        """Size a list."""
        return sum(self.entry(entry) for entry in entries)

    def overhead(self, **request: Any) -> int:
        """Size the rest of a request."""
        return self._count()

    def _count(self) -> int:
        self.calls += 1
        if isinstance(self.size, Exception):
            raise self.size
        return self.size  # type: ignore[no-any-return] # the tests hand in all kinds


def words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def words_of(batch: list[TranscriptEntry]) -> int:
    """Count the words of entries."""
    return sum(words(text_of(entry)) for entry in batch)


def test_lovias_own_counters_stay_what_they_are() -> None:
    """A counter of lovia's is handed back as it is."""
    for counter in (ByteCounter(), TiktokenCounter("cl100k_base")):
        assert as_counter(counter) is counter
    adapted = as_counter(words)
    assert as_counter(adapted) is adapted


@pytest.mark.parametrize(
    "count",
    [
        words,
        functools.partial(words),
        lambda text: len(text.split()),
        lambda s: len(s) / 4,
        lambda x: len(x.split()),
        str.__len__,
    ],
)
def test_a_function_over_text_prices_entries(count: Callable[..., Any]) -> None:
    """A function over a text is recognised, and entries are framed and priced by it."""
    counter = as_counter(count)
    assert counter.source == "tokenizer"
    assert counter.text("four words are here") == -(-count("four words are here") // 1)
    assert counter.entry(ENTRIES[0]) == 4 + counter.text("four words are here")


@pytest.mark.parametrize(
    "count",
    [
        words_of,
        lambda entries: 4 * len(entries),
        lambda messages: 4 * len(messages),
        lambda x: sum(len(text_of(entry).split()) for entry in x),
    ],
)
def test_a_function_over_entries_counts_each_by_itself(count: Callable[..., Any]) -> None:
    """A function over a list of entries is recognised, and asked about one entry at a time."""
    counter = as_counter(count)
    assert counter.entry(ENTRIES[0]) == 4
    assert counter.entries(ENTRIES) == counter.entry(ENTRIES[0]) + counter.entry(ENTRIES[1])


@pytest.mark.parametrize("count", [len, lambda x: len(x) // 4])
def test_nobody_guesses_what_a_function_counts(count: Callable[..., Any]) -> None:
    """A function that works on texts and on lists alike needs a word on which it is meant for."""
    with pytest.raises(UserError, match="Cannot tell") as caught:
        as_counter(count)
    assert "over=" in (caught.value.hint or "")
    assert as_counter(count, over="text").text("12345678") == count("12345678")
    assert as_counter(count, over="entries").entry(ENTRIES[0]) >= 1


def test_a_provider_counts_its_own_way() -> None:
    """What a provider takes around every request goes into the overhead, once."""
    provider = CountingProvider()
    counter = as_counter(provider)
    assert counter.source == "provider"
    assert counter.entries(ENTRIES) + counter.overhead() == provider.count_tokens(ENTRIES)
    assert counter.overhead(instructions="be brief") == 3 + 4 + 2
    assert counter_for(provider, "any").entries(ENTRIES) == counter.entries(ENTRIES)


def test_a_provider_is_asked_once_for_an_entry() -> None:
    """Adapters of the same provider share its numbers; another provider's are its own."""
    entries = [InputEntry("user", f"number {n}") for n in range(50)]
    first, second = CountingProvider(), CountingProvider()
    as_counter(first).entries(entries)
    asked = first.calls
    for _ in range(3):
        as_counter(first).entries(entries)
    assert first.calls <= asked + 3
    as_counter(second).entries(entries)
    assert second.calls >= 50


def test_a_new_object_at_an_old_address_is_a_new_counter() -> None:
    """When a provider is gone, no later one inherits its numbers, and nothing of it is kept."""
    entry = InputEntry("user", "one two three")
    keys = set()
    for _ in range(20):
        provider = CountingProvider()
        as_counter(provider).entry(entry)
        keys.add(as_counter(provider)._key)  # type: ignore[attr-defined] # looks inside
        del provider
        gc.collect(1)
    assert len(keys) == 20
    before = len(custom._known)
    del entry
    gc.collect()
    assert len(custom._known) <= before


def test_a_bound_method_belongs_to_its_object() -> None:
    """A method is a new object each time it is looked up, and yet the same counter."""
    provider = CountingProvider()
    entry = InputEntry("user", "one two three")
    as_counter(provider.count_tokens).entry(entry)
    as_counter(provider.count_tokens).entry(entry)
    assert len([key for key in memo(entry) if key.startswith("tokens:")]) == 1


def test_an_own_counter_is_asked_once_for_an_entry() -> None:
    """A user's counter need not remember anything itself."""
    own = OwnCounter()
    counter = as_counter(own)
    entries = [InputEntry("user", "a"), InputEntry("user", "b")]
    assert [counter.entries(entries) for _ in range(5)] == [14] * 5
    assert own.calls == 2
    assert counter.source == "tokenizer"
    assert counter.text("x") == counter.overhead(instructions="y") == 7


@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        "gpt-5",
        ByteCounter,
        object(),
        ["a"],
    ],
)
def test_what_is_no_counter_is_refused(bad: Any) -> None:
    """Anything else raises where it is handed in, and the hint says what would do."""
    with pytest.raises(UserError) as caught:
        as_counter(bad)
    assert "ByteCounter" in (caught.value.hint or "")


async def _counts_later(text: str) -> int:
    return len(text)


def test_an_asynchronous_counter_is_refused() -> None:
    """A coroutine function cannot count, and a hidden one is found out without a warning."""
    with pytest.raises(UserError, match="asynchronous"):
        as_counter(_counts_later)
    hidden = as_counter(lambda text: _counts_later(text + text))
    with pytest.raises(UserError, match="asynchronous"):
        hidden.text("abc")


@pytest.mark.parametrize(
    "result", [None, "12", -1, float("nan"), float("inf"), True, [3], ValueError("no vocabulary")]
)
def test_a_counter_that_fails_is_no_silent_zero(result: Any) -> None:
    """An exception, or a result that is no number of tokens, is an error that names the counter."""
    counter = as_counter(OwnCounter(result))
    asks: list[Callable[[], int]] = [
        lambda: counter.text("a"),
        lambda: counter.entry(InputEntry("user", "a")),
        lambda: counter.entries([InputEntry("user", "a")]),
        lambda: counter.overhead(instructions="a"),
    ]
    for ask in asks:
        with pytest.raises(UserError, match=r"OwnCounter\.\w+ ") as caught:
            ask()
        assert caught.value.hint


def test_a_function_that_always_fails_says_why() -> None:
    """The error of a function that can count nothing at all carries the function's own words."""

    def broken(_: Any) -> int:
        raise OSError("the vocabulary file is gone")

    with pytest.raises(UserError, match="vocabulary file is gone"):
        as_counter(broken)


def test_lovias_errors_pass_as_they_are() -> None:
    """An error that already is one of lovia's is not wrapped."""
    counter = as_counter(OwnCounter(ProviderError("overloaded", retryable=True)))
    with pytest.raises(ProviderError, match="overloaded"):
        counter.text("a")


@pytest.mark.parametrize("size", [0, 2.2, 3])
def test_numbers_are_rounded_up(size: Any) -> None:
    """Fractions count as the next whole token, and an entry takes one at least."""
    counter = as_counter(OwnCounter(size))
    assert counter.entry(InputEntry("user", "a")) == max(-(-size // 1), 1)


class _Slotted:
    __slots__ = ()

    def count_tokens(self, entries: list[TranscriptEntry]) -> int:
        """Count nothing much."""
        return len(entries)


def test_an_object_without_weak_references_counts_too() -> None:
    """Where nobody can tell when an object is gone, each adapter has numbers of its own."""
    provider = _Slotted()
    assert as_counter(provider).entry(InputEntry("user", "a")) == 1
    assert as_counter(provider)._key != as_counter(provider)._key  # type: ignore[attr-defined] # inside
