"""Counting once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.tokens import ByteCounter, EntryCounter
from lovia.tokens.counter import TokenCounter, TokenSource
from lovia.transcript.entries import AssistantTextEntry, InputEntry, TranscriptEntry, memo


class Probe(EntryCounter):
    """Counts characters, and how often it really did."""

    def __init__(self, key: str = "probe") -> None:
        super().__init__(key)
        self.estimations = 0

    @property
    def source(self) -> TokenSource:
        """Pretend to be a tokenizer."""
        return "tokenizer"

    def text(self, text: str) -> int:
        """Count characters."""
        self.estimations += 1
        return len(text)


@pytest.mark.parametrize("size", [8_000, 8_200])
def test_five_scans_estimate_each_entry_once(size: int) -> None:
    """However long the history is, further scans of it estimate nothing again."""
    probe = Probe()
    history = [InputEntry("user", f"message {n} " + "x" * 4_000) for n in range(size)]
    first = probe.entries(history)
    assert probe.estimations == size
    assert [probe.entries(history) for _ in range(5)] == [first] * 5
    assert probe.estimations == size


def test_counters_do_not_share_numbers() -> None:
    """Two counters of different configuration each remember their own size of an entry."""
    entry = InputEntry("user", "some text that the two see differently")
    assert ByteCounter().entry(entry) != Probe().entry(entry)
    assert Probe("other").entry(entry) == Probe().entry(entry)
    keys = [key for key in memo(entry) if key.startswith("tokens:")]
    assert len(keys) == 3


def test_counters_of_one_configuration_share_numbers() -> None:
    """A second counter of the same kind counts nothing that the first one did."""
    entries: list[TranscriptEntry] = [InputEntry("user", "a"), AssistantTextEntry("b")]
    Probe().entries(entries)
    second = Probe()
    assert second.entries(entries) > 0
    assert second.estimations == 0


def test_equal_entries_are_counted_apart() -> None:
    """The number lives with the entry and vanishes with it: nothing is kept beside it."""
    probe = Probe()
    probe.entries([InputEntry("user", "same"), InputEntry("user", "same")])
    assert probe.estimations == 2


def test_an_entry_does_not_collect_numbers_for_ever() -> None:
    """An entry that meets a new counter in every run keeps a bounded number of sizes."""
    entry = InputEntry("user", "long lived")
    memo(entry)["digest"] = "kept"
    sizes = {Probe(f"run {n}").entry(entry) for n in range(1_000)}
    assert len(sizes) == 1
    assert len(memo(entry)) <= 64
    assert memo(entry)["digest"] == "kept"


def test_what_comes_again_is_measured_once() -> None:
    """Instructions and tools of a request are measured in the first turn only."""
    probe = Probe()
    tools = [{"name": f"tool {n}"} for n in range(60)]
    request: dict[str, Any] = {"instructions": "Be brief.", "tools": tools, "response_format": {}}
    first = probe.overhead(**request)
    measured = probe.estimations
    assert probe.overhead(**request) == first
    assert probe.estimations == measured


def test_an_edited_schema_is_measured_again() -> None:
    """A dictionary of tools is looked at each time, as it may have been changed in place."""
    probe, tool = Probe(), {"name": "a"}
    before = probe.overhead(tools=[tool])
    tool["name"] = "a much longer name"
    assert probe.overhead(tools=[tool]) > before


def test_many_different_instructions_are_not_kept() -> None:
    """What a counter remembers of requests has a bound."""
    probe = Probe()
    for n in range(2_000):
        probe.overhead(instructions=f"Instructions of user {n}", tools=[object()])
    assert len(probe._texts) <= 256
    assert len(probe._tools) <= 256


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=12))
def test_the_sum_is_the_sum(texts: list[str]) -> None:
    """`entries` is the sum over `entry`, each of which is at least 1, whoever counts first."""
    counter = ByteCounter()
    entries: list[TranscriptEntry] = [InputEntry("user", text) for text in texts]
    sizes = [counter.entry(entry) for entry in entries[::2]]
    total = counter.entries(iter(entries))
    assert total == sum(counter.entry(entry) for entry in entries)
    assert all(size >= 1 for size in sizes)


def test_it_is_a_token_counter() -> None:
    """Lovia's counters fit the protocol that users write against."""
    assert isinstance(ByteCounter(), TokenCounter)
