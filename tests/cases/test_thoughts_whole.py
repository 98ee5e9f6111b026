"""A thought is kept byte for byte with what it led to, or goes with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.policy import StageResult
from lovia.errors import InvalidViewError
from lovia.transcript import ReasoningEntry, ToolCallEntry, validate_view
from lovia.transcript.pairing import legal_cuts
from tests.cases.support import Conversation, policy_of
from tests.notation import A, C, R, T, U, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.context import PolicyContext
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def thought(text: str, tokens: int = 100) -> ReasoningEntry:
    """Return a thought of a size, sealed with a signature."""
    return ReasoningEntry(words(tokens, text), id=f"rs_{text}", signature=f"sig-{text}" * 50)


#: Steps in which thoughts, texts and calls stand in any order that models write them in.
STEPS: dict[str, list[TranscriptEntry]] = {
    "thought_call": [thought("r"), C("a"), T("a")],
    "thought_text_call": [thought("r"), A("so"), C("a"), T("a")],
    "two_thoughts": [thought("r1"), thought("r2"), C("a"), T("a")],
    "thought_batch": [thought("r"), C("a"), C("b"), T("b"), T("a")],
    "thoughts_between": [thought("r1"), C("a"), thought("r2"), C("b"), T("a"), T("b")],
    "texts_between": [thought("r"), A("one"), A("two"), C("a"), T("a")],
    "thought_text": [thought("r"), A("so it is")],
    "thought_alone": [thought("r")],
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_no_cut_parts_a_thought_from_what_it_led_to(step: list[TranscriptEntry]) -> None:
    """The only places at which a step may be cut off are before it and after it."""
    assert legal_cuts([U(), *step, U()]) == [0, 1, len(step) + 1, len(step) + 2]


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("keep", range(1, 9))
@pytest.mark.parametrize("how", ["entries", "threshold", "refused", "manual"])
async def test_a_thought_is_shown_with_its_step_or_not_at_all(
    how: str, keep: int, step: list[TranscriptEntry]
) -> None:
    """However many entries are kept, each thought in a view is the very object, its step beside."""
    steps = [[replace(entry) for entry in step] for _ in range(5)]
    policy = policy_of(
        context_window_tokens=900 if how == "threshold" else None,
        max_entries=6 if how == "entries" else None,
        keep_initial_entries=1,
        keep_recent_entries=keep,
        reactive_keep_recent_entries=keep,
    )
    talk = Conversation(policy, U("go"), *[entry for each in steps for entry in (*each, U("on"))])
    if how == "refused":
        result = await talk.refused(600)
    elif how == "manual":
        result = await talk.compacted()
    else:
        result = await talk.view()
    shown = {id(entry) for entry in result.entries}
    for each in steps:
        thoughts = [entry for entry in each if isinstance(entry, ReasoningEntry)]
        calls = [entry for entry in each if isinstance(entry, ToolCallEntry)]
        assert len({id(entry) in shown for entry in [*thoughts, *calls]}) == 1


class Rewriting:
    """A stage of somebody else's that treats thoughts as it likes."""

    name = "rewriting"

    def __init__(self, rewrite: Callable[[TranscriptEntry], list[TranscriptEntry]]) -> None:
        self._rewrite = rewrite

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Rewrite every entry."""
        view = [new for entry in entries for new in self._rewrite(entry)]
        return StageResult(view, changed=True)


def with_thoughts(
    change: Callable[[ReasoningEntry], list[TranscriptEntry]],
) -> Callable[[TranscriptEntry], list[TranscriptEntry]]:
    """Return a rewriting of thoughts alone."""

    def rewrite(entry: TranscriptEntry) -> list[TranscriptEntry]:
        return change(entry) if isinstance(entry, ReasoningEntry) else [entry]

    return rewrite


SPOILED: dict[str, Any] = {
    "shortened": with_thoughts(lambda r: [replace(r, content=r.content[:10])]),
    "emptied": with_thoughts(lambda r: [replace(r, content="")]),
    "unsigned": with_thoughts(lambda r: [replace(r, signature=None)]),
    "other_signature": with_thoughts(lambda r: [replace(r, signature="sig")]),
    "renamed": with_thoughts(lambda r: [replace(r, id="rs_0")]),
    "other_provider": with_thoughts(lambda r: [replace(r, provider="another")]),
    "dropped": with_thoughts(lambda r: []),
    "twice": with_thoughts(lambda r: [r, r]),
    "told_as_text": with_thoughts(lambda r: [A(r.content)]),
    "alone": lambda entry: [] if isinstance(entry, ToolCallEntry) else [entry],
}


@pytest.mark.parametrize("rewrite", SPOILED.values(), ids=SPOILED)
async def test_a_stage_that_spoils_a_thought_is_refused(rewrite: Any) -> None:
    """A thought that is changed, or parted from its call, never gets into a view."""
    policy = policy_of(context_window_tokens=600, max_entries=None, stages=[Rewriting(rewrite)])
    talk = Conversation(policy, U("go"), *STEPS["thought_call"], U("on"), *STEPS["thought_batch"])
    talk.transcript += [A("done", tokens=200), U("so?")]
    result = await talk.view()
    assert result.outcome == "failed"
    assert [record.outcome for record in result.stages] == ["refused"]
    assert result.entries == talk.transcript


async def test_other_stages_go_on_after_one_that_spoils_a_thought() -> None:
    """The view before the refused stage is what the next stage works on."""
    policy = policy_of(context_window_tokens=1_000, max_entries=None, keep_recent_entries=3)
    stages = [Rewriting(SPOILED["shortened"]), *policy.stages]
    mixed = policy_of(context_window_tokens=1_000, max_entries=None, stages=stages)
    talk = Conversation(mixed, U("go"), *STEPS["thought_call"] * 5, A("done"), U("so?"))
    result = await talk.view()
    assert result.outcome == "partial"
    assert result.stages[0].outcome == "refused"
    assert "applied" in {record.outcome for record in result.stages}
    assert result.sizes is not None
    assert result.sizes.request_after < 800


@pytest.mark.parametrize(
    "view",
    [
        [U("go"), C("a"), T("a"), U("on")],
        [U("go"), R("other"), C("a"), T("a"), U("on")],
        [U("go"), thought("r"), U("on")],
    ],
    ids=["lost", "rewritten", "without_its_call"],
)
def test_the_oracle_notices_a_parted_thought(view: list[TranscriptEntry]) -> None:
    """A view in which a thought is missing, changed or alone is called invalid by that rule."""
    transcript: list[TranscriptEntry] = [U("go"), thought("r"), C("a"), T("a"), U("on")]
    with pytest.raises(InvalidViewError) as caught:
        validate_view(view, transcript=transcript)
    assert caught.value.rule == "reasoning"


async def test_the_default_stages_never_write_a_thought() -> None:
    """Over a long run every thought in every view is one of the transcript's own objects."""
    policy = policy_of(context_window_tokens=2_500, max_entries=30, keep_recent_entries=10)
    talk = Conversation(policy, U("go"))
    for number in range(60):
        await talk.view(thought(f"r{number}"), C(f"c{number}"), T(f"c{number}", tokens=80))
        news: list[TranscriptEntry] = [U("on")] if number % 4 == 0 else []
        result = await talk.view(*news)
        if number % 17 == 16:
            result = await talk.refused(2_000)
        own = {id(entry) for entry in talk.transcript}
        thoughts = [entry for entry in result.entries if isinstance(entry, ReasoningEntry)]
        assert all(id(entry) in own for entry in thoughts)
