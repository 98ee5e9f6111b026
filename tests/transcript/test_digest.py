"""Digests tell entries apart, chains tell histories apart, and both are computed once."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.transcript import (
    AssistantTextEntry,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
)
from lovia.transcript.digest import DIGEST_BYTES, PrefixChain, digest, meter
from tests.transcript.strategies import entries, transcripts

if TYPE_CHECKING:
    from collections.abc import Sequence


def fresh(transcript: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Return equal entries that remember nothing."""
    return entries_from_json(entries_to_json(transcript))


def metadata_json(entry: TranscriptEntry) -> str:
    """Write metadata so that numbers and truth values differ, which Python holds equal."""
    return json.dumps(dict(getattr(entry, "metadata", {})), sort_keys=True)


@given(entries, entries)
def test_digests_are_equal_exactly_when_entries_are(
    one: TranscriptEntry, other: TranscriptEntry
) -> None:
    """Two entries have the same digest if and only if they are equal, metadata as JSON."""
    assert len(digest(one)) == DIGEST_BYTES
    equal = one == other and metadata_json(one) == metadata_json(other)
    assert (digest(one) == digest(other)) == equal
    assert digest(one) == digest(fresh([one])[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ToolCallEntry("a", "bc", ""), ToolCallEntry("ab", "c", "")),
        (ToolCallEntry("", "1 2;a", ""), ToolCallEntry("", "1 2;", "a")),
        (ToolResultEntry("ab", "c"), ToolResultEntry("a", "bc")),
        (ToolResultEntry("a", "b"), ToolResultEntry("a", "b", is_error=True)),
        (ToolResultEntry("a", "b"), ToolResultEntry("a", "b", origin="placeholder")),
        (ToolResultEntry("a", "b7:text;ab"), ToolResultEntry("a", "b", parts=[TextPart("ab")])),
        (InputEntry("user", "a"), InputEntry("user", [TextPart("a")])),
        (InputEntry("user", "6:text;a"), InputEntry("user", [TextPart("a")])),
        (InputEntry("user", "a"), InputEntry("developer", "a")),
        (InputEntry("user", []), InputEntry("user", "")),
        (
            InputEntry("user", [TextPart("a"), TextPart("b")]),
            InputEntry("user", [TextPart("ab")]),
        ),
        (InputEntry("user", [ImagePart(url="a")]), InputEntry("user", [ImagePart(data="a")])),
        (InputEntry("user", [ImagePart(url="a")]), InputEntry("user", [FilePart(url="a")])),
        (AssistantTextEntry("a"), AssistantTextEntry("a", id="")),
        (AssistantTextEntry("a=b"), AssistantTextEntry("a", id="b")),
        (AssistantTextEntry("a"), ReasoningEntry("a")),
        (ReasoningEntry("a", id="b"), ReasoningEntry("a", provider="b")),
        (ReasoningEntry("a", metadata={"b": 1}), ReasoningEntry("a", metadata={"b": "1"})),
        (AssistantTextEntry("\ud83d\ude00"), AssistantTextEntry("😀")),
        (AssistantTextEntry("\ud83d"), AssistantTextEntry("\ufffd")),
    ],
)
def test_fields_cannot_pass_for_each_other(one: TranscriptEntry, other: TranscriptEntry) -> None:
    """Entries that differ only in where a text stands or ends have different digests."""
    assert digest(one) != digest(other)


def test_the_order_of_metadata_does_not_count() -> None:
    """Equal metadata gives equal digests in whatever order its keys were written."""
    one = ReasoningEntry("", metadata={"a": 1, "b": {"c": 2, "d": 3}})
    other = ReasoningEntry("", metadata={"b": {"d": 3, "c": 2}, "a": 1})

    assert digest(one) == digest(other)


@given(entries)
def test_an_entry_is_hashed_once_in_its_life(entry: TranscriptEntry) -> None:
    """Asking again hashes nothing, and neither does asking a copy, which is the same entry."""
    digest(entry)
    before = copy.copy(meter)

    digest(entry)
    digest(copy.deepcopy(entry))

    assert meter == before


def test_a_replaced_entry_does_not_inherit_the_digest() -> None:
    """What an entry remembers does not follow into an entry made from it."""
    entry = AssistantTextEntry("use red")
    old = digest(entry)

    assert digest(replace(entry, content="use tan")) != old


def test_200_turns_hash_every_entry_once() -> None:
    """Appending for 200 turns hashes the bytes of the history once, and never again."""
    chain = PrefixChain()
    transcript: list[TranscriptEntry] = []
    start = copy.copy(meter)
    for turn in range(200):
        new: list[TranscriptEntry] = [
            InputEntry("user", f"question {turn}"),
            ToolCallEntry(f"c{turn}", "search", "{}"),
            ToolResultEntry(f"c{turn}", "x" * 1000),
            AssistantTextEntry("done"),
        ]
        transcript += new
        chain.extend(transcript[len(chain) :])

    assert meter.entries - start.entries == len(transcript)
    content = 1000 + len("question ") + len("search") + len("{}") + len("done")
    frame = 250  # bytes that lengths and ids of four entries take at most
    assert 200 * content < meter.bytes - start.bytes < 200 * (content + frame)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 4_999, 5_000])
def test_a_value_costs_the_same_however_long_the_chain_is(length: int) -> None:
    """Any value of a long chain is made from fewer than 64 digests of 16 bytes."""
    one = AssistantTextEntry("the same")
    chain = PrefixChain([one] * 5_000)
    before = meter.bytes

    value = chain.value(length)

    assert meter.bytes - before < 64 * DIGEST_BYTES
    assert value == PrefixChain([one] * length).value()


@pytest.mark.parametrize("length", [0, 63, 64, 127, 128, 3_000])
def test_a_long_chain_grows_on_from_where_it_was_truncated(length: int) -> None:
    """Forgetting a tail forgets what was remembered about it as well."""
    old, new = AssistantTextEntry("old"), AssistantTextEntry("new")
    chain = PrefixChain([old] * 3_000)

    chain.truncate(length)
    chain.extend([new] * 2_000)

    assert chain.value() == PrefixChain([old] * length + [new] * 2_000).value()


@given(transcripts, st.integers(0, 8))
def test_a_chain_does_not_depend_on_how_it_grew(
    transcript: list[TranscriptEntry], cut: int
) -> None:
    """Values are the same whether entries came one by one or at once, and for every prefix."""
    whole = PrefixChain(transcript)
    grown = PrefixChain(transcript[:cut])
    grown.extend(fresh(transcript[cut:]))

    assert len(whole) == len(grown) == len(transcript)
    for length in range(len(transcript) + 1):
        prefix = PrefixChain(fresh(transcript[:length]))
        assert whole.value(length) == grown.value(length) == prefix.value()


def test_rewritten_history_of_the_same_length_is_noticed() -> None:
    """A chain tells apart histories of equal shape and equal lengths."""
    before = PrefixChain([InputEntry("user", "use red"), AssistantTextEntry("yes red")])
    after = PrefixChain([InputEntry("user", "use tan"), AssistantTextEntry("yes tan")])

    assert before.value(0) == after.value(0)
    assert before.value(1) != after.value(1)
    assert after.value() != before.value()


def test_order_counts() -> None:
    """The same entries in another order are another history."""
    one, two = AssistantTextEntry("one"), AssistantTextEntry("two")

    assert PrefixChain([one, two]).value() != PrefixChain([two, one]).value()


def test_a_truncated_chain_grows_from_there() -> None:
    """After forgetting a tail, a chain is the chain of what is left."""
    one, two, three = map(AssistantTextEntry, ("one", "two", "three"))
    chain = PrefixChain([one, two])

    chain.truncate(1)
    chain.extend([three])

    assert chain.value() == PrefixChain([one, three]).value()
    chain.truncate(5)
    assert len(chain) == 2


@pytest.mark.parametrize("length", [-1, 2])
def test_a_length_beyond_the_chain_is_an_error(length: int) -> None:
    """A value is only known for prefixes of the list."""
    chain = PrefixChain([AssistantTextEntry("one")])

    with pytest.raises(IndexError, match="covers 1 entries"):
        chain.value(length)
