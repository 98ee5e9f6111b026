"""A provider's count is learned from once, and only for the request that it speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import CompactingContextPolicy, ExtractiveSummarizer, PolicyContext
from lovia.errors import ContextOverflowError
from tests.notation import COUNTER, A, C, T, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def policy(window: int = 10_000, **settings: Any) -> CompactingContextPolicy:
    """Return a policy that counts four characters as a token."""
    return CompactingContextPolicy(
        window, token_counter=COUNTER, summarizer=ExtractiveSummarizer(), **settings
    )


async def test_a_refused_request_is_not_measured_by_the_count_before_it() -> None:
    """After a refusal the sizes before the pass are those of the request that was refused."""
    compacting = policy()
    state: dict[str, Any] = {}
    transcript: list[TranscriptEntry] = [U(tokens=1_000)]
    await compacting.apply(transcript, ctx=PolicyContext(state=state))
    transcript += [A(), U(tokens=3_000)]
    counted = PolicyContext(state=state, last_input_tokens=1_100)
    sent = await compacting.apply(transcript, ctx=counted)
    error = ContextOverflowError(reported_window=3_500)
    refused = await compacting.apply_reactive(transcript, ctx=counted, error=error)
    assert sent.sizes is not None
    assert refused.sizes is not None
    assert refused.sizes.request_before == sent.sizes.request_after
    assert sent.sizes.source == "provider"


async def test_one_count_teaches_once() -> None:
    """Seeing the same count again, without a request between, changes no size."""
    compacting = policy()
    state: dict[str, Any] = {}
    transcript: list[TranscriptEntry] = [U(tokens=2_000)]
    await compacting.apply(transcript, ctx=PolicyContext(state=state))
    transcript += [A(), U(tokens=10)]
    sizes = [
        (
            await compacting.apply(
                transcript, ctx=PolicyContext(state=state, last_input_tokens=2_400)
            )
        )
        for _ in range(3)
    ]
    assert len({result.sizes.request_after for result in sizes if result.sizes}) == 1


async def test_no_summary_that_could_only_make_the_request_larger() -> None:
    """When hardly anything visible lies before the tail, no model is asked for a summary of it."""
    compacting = policy(2_000, max_entries=None, keep_recent_entries=6, keep_recent_tool_results=6)
    transcript: list[TranscriptEntry] = [U("goal")]
    for number in range(40):
        transcript += [C(f"c{number}"), T(f"c{number}", tokens=400)]
    result = await compacting.apply(transcript, ctx=PolicyContext())
    assert result.sizes is not None
    for record in result.stages:
        assert record.after <= record.before, record
