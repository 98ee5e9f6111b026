"""What holds however often, and wherever, the calls of a policy are interrupted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context import PolicyContext
from lovia.context.archive import MemoryArchive
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import ContextOverflowError, ProviderError
from lovia.usage import Usage
from tests.cases.interrupting import cancelled_at
from tests.cases.support import check_view, policy_of
from tests.context.summarizer.fakes import GOOD, SPENT, Answer, FakeModel, no_wait
from tests.properties.histories import Turn, conversations

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

settings = st.fixed_dictionaries(
    {
        "context_window_tokens": st.sampled_from([600, 1_200, 3_000]),
        "max_entries": st.sampled_from([8, 20, None]),
        "keep_initial_entries": st.integers(0, 4),
        "keep_recent_entries": st.integers(0, 12),
        "keep_recent_tool_results": st.integers(0, 3),
        "large_tool_result_chars": st.sampled_from([200, 20_000]),
        "tool_result_preview_chars": st.sampled_from([0, 60]),
    }
)
answers = st.lists(
    st.sampled_from(
        [
            *(Answer(GOOD), Answer(GOOD), Answer(""), Answer("## Goal", finish="length")),
            *(Answer("", error=ProviderError(status_code=529)), Answer("", error=OSError())),
            Answer("I cannot do that."),
        ]
    ),
    max_size=8,
)
#: For each call of the policy the wait at which it is interrupted; beyond its last, it is not.
waits = st.lists(st.integers(1, 30), min_size=1, max_size=12)


def covered(state: dict[str, Any]) -> set[int]:
    """Return the transcript indices that a saved summary stands for."""
    saved = state.get("compacting", {}).get("summary") or {"covers": []}
    return {index for start, stop in saved["covers"] for index in range(start, stop)}


@given(turns=conversations(), chosen=settings, replies=answers, stops=waits)
async def test_interruptions_leave_a_consistent_state(
    turns: list[Turn], chosen: dict[str, Any], replies: list[Answer], stops: list[int]
) -> None:
    """Turn by turn: coverage only grows, what was saved is usable, and the next view is valid."""
    model = FakeModel(*replies, window=500)
    summarizer = LLMSummarizer(model, retry=no_wait(2))
    policy = policy_of(summarizer=summarizer, archive=MemoryArchive(), **chosen)
    state: dict[str, Any] = {}
    usage = Usage()
    transcript: list[TranscriptEntry] = []

    def ctx() -> PolicyContext:
        return PolicyContext(state=state, session_id="s", usage=usage)

    for number, turn in enumerate(turns):
        transcript.extend(turn)
        before, known = list(transcript), covered(state)
        call = policy.apply(transcript, ctx=ctx())
        if number % 5 == 3:
            call.close()
            error = ContextOverflowError(reported_window=500)
            call = policy.apply_reactive(transcript, ctx=ctx(), error=error)
        await cancelled_at(stops[number % len(stops)], call)
        assert transcript == before
        assert covered(state) >= known
        if number % 3 == 2:
            state = json.loads(json.dumps(state))
            policy = policy_of(summarizer=summarizer, archive=MemoryArchive(), **chosen)
        result = await policy.apply(transcript, ctx=ctx())
        check_view(result.entries, transcript)
    assert usage.input_tokens == usage.summary.input_tokens
    assert usage.summary.input_tokens % SPENT.input_tokens == 0
