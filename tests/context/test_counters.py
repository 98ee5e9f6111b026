"""The counter of a call is the same from call to call, and keeps no provider alive."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import CompactingContextPolicy, PolicyContext
from lovia.context.pipeline.counters import CounterChoice
from tests.notation import A, S, U, quarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def count(entries: Sequence[TranscriptEntry]) -> int:
    """Count a token for each four characters of what the entries look like."""
    return sum(quarter(repr(entry)) for entry in entries)


class Counting:
    """A provider that counts for itself."""

    name, model = "v", "m"

    def count_tokens(self, entries: Sequence[TranscriptEntry]) -> int:
        """Count."""
        return count(entries)


@dataclass
class Unhashable(Counting):
    """The same as a data class: equal to others, and so without a hash."""

    calls: int = 0

    def count_tokens(self, entries: Sequence[TranscriptEntry]) -> int:
        """Count, and count the calls."""
        self.calls += len(entries)
        return count(entries)


class Slotted:
    """The same, without room for a weak reference."""

    __slots__ = ()
    name, model = "v", "m"

    def count_tokens(self, entries: Sequence[TranscriptEntry]) -> int:
        """Count."""
        return count(entries)


async def test_a_provider_is_not_kept_alive() -> None:
    """When the application lets go of a provider, a policy that outlives it does so too."""
    policy = CompactingContextPolicy(context_window_tokens=2_000)
    provider = Counting()
    gone = weakref.ref(provider)
    state: dict[str, Any] = {}
    said: list[TranscriptEntry] = [S(), *(U(f"u{n}", tokens=60) for n in range(20))]
    result = await policy.apply(said, ctx=PolicyContext(provider=provider, state=state))
    assert result.sizes is not None
    assert result.sizes.source == "provider"
    del provider, result
    gc.collect()
    assert gone() is None
    other = Counting()  # and the conversation goes on with the next one
    said += [A("ok"), U("so?")]
    result = await policy.apply(said, ctx=PolicyContext(provider=other, state=state))
    assert result.sizes is not None
    assert result.sizes.source == "provider"


@pytest.mark.parametrize("kind", [Counting, Unhashable, Slotted])
async def test_a_provider_has_one_counter(kind: Any) -> None:
    """Sizes stay comparable, so nothing is counted twice; equal providers have their own."""
    choice, provider, other = CounterChoice(), kind(), kind()
    first = await choice.of(PolicyContext(provider=provider))
    assert await choice.of(PolicyContext(provider=provider)) is first
    assert await choice.of(PolicyContext(provider=other)) is not first


async def test_a_turn_counts_only_what_is_new() -> None:
    """Also with a provider that cannot be hashed."""
    policy, provider = CompactingContextPolicy(context_window_tokens=10**6), Unhashable()
    said: list[TranscriptEntry] = [U(f"u{n}") for n in range(50)]
    state: dict[str, Any] = {}
    await policy.apply(said, ctx=PolicyContext(provider=provider, state=state))
    provider.calls = 0
    said.append(A("ok"))
    await policy.apply(said, ctx=PolicyContext(provider=provider, state=state))
    assert provider.calls <= 2
