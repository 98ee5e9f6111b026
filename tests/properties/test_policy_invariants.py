"""What holds for the default policy whatever the conversation, the settings and the failures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context import CompactingContextPolicy, ContextPolicyResult, PolicyContext
from lovia.context.archive import MemoryArchive
from lovia.errors import ContextOverflowError, ProviderError, SummaryRejected
from lovia.transcript import InputEntry, TranscriptEntry, entries_to_json, validate_view
from lovia.transcript.pairing import pair
from lovia.usage import Usage
from tests.notation import COUNTER
from tests.properties.histories import Turn, conversations

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.anyio


class MoodySummarizer:
    """Summarises in a few words, spends tokens, and fails when its script says so."""

    def __init__(self, moods: Sequence[str]) -> None:
        self.moods = list(moods)
        self.calls = 0
        self.covered: list[TranscriptEntry] = []

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> str:
        """Do what the next mood says."""
        mood = self.moods[self.calls % len(self.moods)] if self.moods else "fine"
        self.calls += 1
        ctx.usage.add_summary(Usage(input_tokens=10, output_tokens=1))
        if mood == "transport":
            raise ProviderError("the line is down", retryable=True)
        if mood == "refused":
            raise SummaryRejected("no", reason="refusal")
        self.covered.extend(entries)
        return f"S{self.calls}"


settings = st.fixed_dictionaries(
    {
        "context_window_tokens": st.sampled_from([300, 800, 2_000, None]),
        "max_entries": st.sampled_from([6, 15, None]),
        "keep_initial_entries": st.integers(0, 4),
        "keep_recent_entries": st.integers(0, 12),
        "reactive_keep_recent_entries": st.integers(0, 5),
        "keep_recent_tool_results": st.integers(0, 3),
        "large_tool_result_chars": st.sampled_from([200, 20_000]),
        "tool_result_budget_chars": st.sampled_from([400, 200_000]),
        "tool_result_preview_chars": st.sampled_from([0, 7, 100]),
    }
)
moods = st.lists(st.sampled_from(["fine", "fine", "transport", "refused"]), max_size=4)


def policy_of(chosen: dict[str, Any], summarizer: MoodySummarizer) -> CompactingContextPolicy:
    """Build the policy that hypothesis chose."""
    return CompactingContextPolicy(
        **chosen, summarizer=summarizer, token_counter=COUNTER, archive=MemoryArchive()
    )


def answers_a_dead_call(transcript: list[TranscriptEntry], turn: Turn) -> bool:
    """Tell whether a turn holds the answer to a call that had been given up."""
    dead = pair(transcript).dead_calls()
    partner = pair([*transcript, *turn]).partner
    return any(partner[len(transcript) + number] in dead for number in range(len(turn)))


async def check_view(result: ContextPolicyResult, transcript: list[TranscriptEntry]) -> None:
    """A view is valid, encodes, and lost nothing that cannot be had again."""
    validate_view(result.entries, transcript=transcript)
    for entry in result.entries:
        json.dumps(entries_to_json([entry])).encode()
        for name in ("content", "output", "arguments", "name", "call_id"):
            value = getattr(entry, name, "")
            if isinstance(value, str):
                value.encode()


@given(turns=conversations(), chosen=settings, mood=moods, overflow=st.integers(0, 12))
async def test_every_view_is_valid_and_the_transcript_untouched(
    turns: list[Turn], chosen: dict[str, Any], mood: list[str], overflow: int
) -> None:
    """Turn by turn: valid views, an untouched transcript, shared prefixes, truthful sizes."""
    summarizer = MoodySummarizer(mood)
    policy = policy_of(chosen, summarizer)
    state: dict[str, Any] = {}
    usage = Usage()
    transcript: list[TranscriptEntry] = []
    previous: list[TranscriptEntry] = []
    for number, turn in enumerate(turns):
        late = answers_a_dead_call(transcript, turn)
        transcript.extend(turn)
        before = list(transcript)
        ctx = PolicyContext(state=state, session_id="s", usage=usage)
        result = await policy.apply(transcript, ctx=ctx)
        assert transcript == before
        await check_view(result, transcript)
        if result.outcome is None and not late:
            assert result.entries[: len(previous)] == previous
        if number == overflow:
            reactive = await policy.apply_reactive(
                transcript, ctx=ctx, error=ContextOverflowError(reported_window=250)
            )
            assert transcript == before
            await check_view(reactive, transcript)
            result = reactive
        previous = list(result.entries)  # the view may be the transcript itself, which grows
        assert result.sizes is not None
        if result.outcome in {"compacted", "partial"}:
            assert result.sizes.request_after <= result.sizes.request_before
    assert usage.summary.input_tokens == 10 * summarizer.calls
    assert usage.input_tokens == usage.summary.input_tokens


@given(turns=conversations(), chosen=settings, mood=moods)
async def test_a_saved_view_is_the_same_view(
    turns: list[Turn], chosen: dict[str, Any], mood: list[str]
) -> None:
    """Save, load in a new policy, render: the same bytes, and no new summary calls."""
    first = MoodySummarizer(mood)
    policy = policy_of(chosen, first)
    state: dict[str, Any] = {}
    transcript: list[TranscriptEntry] = []
    result = ContextPolicyResult([], changed=False)
    for turn in turns:
        transcript.extend(turn)
        result = await policy.apply(transcript, ctx=PolicyContext(state=state))
    if result.outcome not in {None, "compacted"}:
        return
    second = MoodySummarizer([])
    reloaded = json.loads(json.dumps(state))
    other = policy_of({**chosen, "context_window_tokens": None, "max_entries": None}, second)
    again = await other.apply(transcript, ctx=PolicyContext(state=reloaded))
    assert second.calls == 0
    assert entries_to_json(again.entries) == entries_to_json(result.entries)


@given(turns=conversations(), chosen=settings)
async def test_applying_twice_changes_nothing(turns: list[Turn], chosen: dict[str, Any]) -> None:
    """A second call with the same transcript gives the same view and decides nothing."""
    policy = policy_of(chosen, MoodySummarizer([]))
    state: dict[str, Any] = {}
    transcript = [entry for turn in turns for entry in turn]
    result = ContextPolicyResult([], changed=False)
    for _ in range(3):  # a first pass may end above the target and be followed by another
        result = await policy.apply(transcript, ctx=PolicyContext(state=state))
    again = await policy.apply(transcript, ctx=PolicyContext(state=state))
    assert again.entries == result.entries
    assert again.outcome in {None, "noop"}


@given(turns=conversations(), chosen=settings, at=st.integers(0, 10))
async def test_a_rewritten_history_never_keeps_a_stale_summary(
    turns: list[Turn], chosen: dict[str, Any], at: int
) -> None:
    """When an entry under the summary changes, the summary that described it is gone."""
    policy = policy_of(chosen, MoodySummarizer([]))
    state: dict[str, Any] = {}
    transcript = [entry for turn in turns for entry in turn]
    await policy.apply(transcript, ctx=PolicyContext(state=state))
    covered = state["compacting"].get("summary")
    index = min(at, len(transcript) - 1)
    changed = list(transcript)
    changed[index] = InputEntry("user", "another text altogether")
    again = await policy.apply(changed, ctx=PolicyContext(state=state))
    validate_view(again.entries, transcript=changed)
    if covered and any(a <= index < b for a, b in covered["covers"]) and again.summary is None:
        stale = [e for e in again.entries if getattr(e, "origin", "") == "summary"]
        assert all(covered["text"] not in str(entry) for entry in stale)
