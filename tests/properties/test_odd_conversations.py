"""What holds while calls wait, answers come late, stages misbehave and processes change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.policy import PolicyContext, StageResult
from lovia.transcript import (
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
)
from tests.cases.support import Conversation, policy_of
from tests.notation import A, T, U
from tests.properties.histories import conversations, joined, model_turns, user_turns
from tests.properties.test_policy_invariants import MoodySummarizer, moods, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.context import CompactingContextPolicy, ContextStage

pytestmark = pytest.mark.anyio

Entries = list[TranscriptEntry]
#: Settings with which nothing is ever due.
IDLE: dict[str, Any] = {
    "max_entries": None,
    "large_tool_result_chars": 10**9,
    "tool_result_budget_chars": 10**9,
}
#: One object in several places of a conversation, as interned texts are.
SHARED: Entries = [A("ok"), U("on")]


def shorten_results(entries: Entries, at: int) -> Entries:
    """Shorten every result from a position on."""
    return [
        ToolResultEntry(e.call_id, "short") if isinstance(e, ToolResultEntry) and k >= at else e
        for k, e in enumerate(entries)
    ]


#: What stages by others do to a view of which a position was drawn.
DEEDS: list[Callable[[Entries, int], Entries]] = [
    lambda entries, at: [*entries[:at], *entries[at + 1 :]],
    lambda entries, at: [*entries[:at], *entries[at + 3 :]],
    lambda entries, at: [*entries[:at], U("[note]"), *entries[at:]],
    lambda entries, at: [*entries[:at], A("[cut]"), *entries[at + 1 :]],
    lambda entries, at: [*entries[at:], *entries[:at]],
    lambda entries, at: [*entries[:at], *entries[at : at + 1], *entries[at:]],
    lambda entries, at: entries_from_json(entries_to_json(entries)),
    shorten_results,
]


class Meddling:
    """A stage of somebody else's that does something else each time."""

    name = "meddling"

    def __init__(self, deeds: list[tuple[Callable[[Entries, int], Entries], int]]) -> None:
        self._deeds = deeds
        self._calls = 0

    async def apply(self, entries: Entries, *, ctx: PolicyContext) -> StageResult:
        """Do the next deed."""
        deed, at = self._deeds[self._calls % len(self._deeds)]
        self._calls += 1
        return StageResult(deed(entries, at % (len(entries) + 1)), changed=True)


@dataclass(frozen=True)
class Step:
    """What a conversation goes through next.

    Attributes:
        turn: What is said.
        waits: Whether open calls of it wait for an answer; else one that waits is answered.
        how: What is asked of the policy.
        window: The window that a refusal names.
    """

    turn: Entries
    waits: bool
    how: str
    window: int | None


meddling = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 60)), min_size=1, max_size=5)
turns = st.one_of(user_turns(), model_turns(), model_turns(), st.just(SHARED))
steps = st.builds(
    Step,
    turns,
    waits=st.booleans(),
    how=st.sampled_from(["apply"] * 6 + ["refused", "manual", "resume"]),
    window=st.sampled_from([None, 250]),
)


def build(chosen: dict[str, Any], stage: Meddling | None, mood: list[str]) -> Any:
    """Return a maker of equal policies, one for each process."""

    def make() -> CompactingContextPolicy:
        fixed = {**chosen, "summarizer": MoodySummarizer(mood)}
        stages: list[ContextStage] = [*policy_of(**fixed).stages]
        return policy_of(**fixed, stages=[*stages[:2], stage, *stages[2:]] if stage else stages)

    return make


def unanswered(turn: Entries) -> list[str]:
    """Return the ids of the calls of a turn that have no result in it."""
    answered = [entry.call_id for entry in turn if isinstance(entry, ToolResultEntry)]
    called = [entry.call_id for entry in turn if isinstance(entry, ToolCallEntry)]
    return [call_id for call_id in called if call_id not in answered]


@given(
    first=conversations(max_turns=4),
    chosen=settings,
    mood=moods,
    deeds=st.none() | meddling,
    later=st.lists(steps, min_size=2, max_size=8),
)
async def test_views_stay_valid_whatever_happens(
    first: list[Entries], chosen: dict[str, Any], mood: list[str], deeds: Any, later: list[Step]
) -> None:
    """Each view is valid, the transcript untouched, and a resumed conversation shows the same."""
    make = build(chosen, Meddling(deeds) if deeds else None, mood)
    talk = Conversation(make(), *joined(first))
    waiting: list[str] = []
    for step in later:
        news = list(step.turn)
        if step.waits:
            waiting += unanswered(news)
        elif waiting:
            news.append(T(waiting.pop(), "late"))
        talk.told["pending_calls"] = frozenset(waiting)
        if step.how == "resume":
            talk = talk.resumed(make())
        if step.how in {"apply", "resume"}:
            result = await talk.view(*news)
        else:
            talk.transcript += news
            refused = step.how == "refused"
            result = await (talk.refused(step.window) if refused else talk.compacted())
        other = talk.resumed(policy_of(**IDLE))
        other.state.get("compacting", {}).pop("models", None)  # or it knows a window to act on
        replayed = await other.view()
        assert entries_to_json(replayed.entries) == entries_to_json(result.entries)
