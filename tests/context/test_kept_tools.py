"""Results of kept tools stay word for word, whatever is compacted around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.archive import MemoryArchive
from lovia.transcript import ToolResultEntry
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import FakeModel
from tests.notation import A, C, S, T, U, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
HOW_TO = words(90, "rule")
KEPT = "results of kept tools included"


def talking(turns: int, tokens: int = 60) -> list[TranscriptEntry]:
    """Return turns of a conversation that no cheap stage can shorten."""
    return [e for n in range(turns) for e in (U(f"u{n}", tokens=tokens), A(f"a{n}", tokens=tokens))]


def skills(result: ContextPolicyResult) -> list[str]:
    """Return what a view shows of the results of the kept tool."""
    return [
        entry.output
        for entry in result.entries
        if isinstance(entry, ToolResultEntry) and entry.call_id.startswith("k")
    ]


def notes(result: ContextPolicyResult) -> str:
    """Return what the stages of a pass say."""
    return " / ".join(record.note or "" for record in result.stages)


def skilled(*said: TranscriptEntry, **settings: Any) -> Conversation:
    """Return a conversation that begins with a kept result."""
    chosen: dict[str, Any] = {
        "context_window_tokens": 2_500,
        "max_entries": None,
        "keep_tools": {"skill"},
        "keep_initial_entries": 0,
        "keep_recent_entries": 4,
        **settings,
    }
    start: list[TranscriptEntry] = [S(), U("go"), C("k", "skill"), T("k", HOW_TO)]
    return Conversation(policy_of(**chosen), *start, *said)


@pytest.mark.parametrize("how", ["due", "by_hand", "refused"])
async def test_a_summary_leaves_kept_results_where_they_stand(how: str) -> None:
    """What lies around them is folded; their step is whole, and no summary covers it."""
    talk = skilled(*talking(18), keep_recent_entries=40)
    if how == "due":
        result = await talk.view()
    else:
        result = await (talk.refused(2_000) if how == "refused" else talk.compacted())
    assert summaries(result.entries)
    assert skills(result) == [HOW_TO]
    assert C("k", "skill") in result.entries
    assert KEPT not in notes(result)
    for n in range(20):  # and so it goes on
        result = await talk.view(U(f"v{n}", tokens=60), A(f"w{n}", tokens=60))
        assert skills(result) == [HOW_TO]


@pytest.mark.parametrize("limit", ["large_tool_result_chars", "tool_result_budget_chars"])
async def test_a_large_kept_result_is_sent_whole(limit: str) -> None:
    """On arrival only results of other tools are archived, also out of the same batch."""
    talk = skilled(archive=MemoryArchive(), tool_result_preview_chars=20, **{limit: 200})
    batch: list[TranscriptEntry] = [
        C("k1", "skill"),
        C("o"),
        T("k1", HOW_TO),
        T("o", words(90, "other")),
    ]
    result = await talk.view(U("and?"), *batch)
    assert skills(result) == [HOW_TO, HOW_TO]
    assert [record.note for record in result.stages if record.outcome == "applied"] == [
        "1 large tool result (360 characters) archived"
    ]


async def test_kept_results_that_alone_overflow_are_folded_at_last() -> None:
    """Nothing else would make the request fit: then they go too, and the pass says so."""
    talk = skilled(keep_recent_entries=2)
    many: list[TranscriptEntry] = [
        e for n in range(12) for e in (C(f"k{n}", "skill"), T(f"k{n}", tokens=300))
    ]
    result = await talk.view(*talking(2), *many, U("now?"))
    assert result.sizes is not None
    assert result.sizes.request_after <= 2_500
    assert KEPT in notes(result)
    assert 0 < len(skills(result)) < 13


@pytest.mark.parametrize("how", ["due", "refused"])
async def test_one_kept_result_that_fits_no_window_is_cut_at_last(how: str) -> None:
    """A request that could never be sent helps nobody; the result is archived, the pass says so."""
    talk = skilled(archive=MemoryArchive(), large_tool_result_chars=4_000)
    giant: list[TranscriptEntry] = [C("k1", "skill"), T("k1", words(3_000, "long"))]
    talk.transcript += giant
    result = await (talk.view() if how == "due" else talk.refused(2_500))
    assert result.sizes is not None
    assert result.sizes.request_after <= 2_500
    assert "Full output archived at" in skills(result)[-1]
    assert KEPT in notes(result)


async def test_other_tools_are_no_concern_of_the_setting() -> None:
    """Only the tools that are named are kept; results of others are folded as ever."""
    model = FakeModel()
    others: Sequence[TranscriptEntry] = [C("k9", "search"), T("k9", HOW_TO)]
    talk = Conversation(
        policy_of(model, context_window_tokens=2_500, max_entries=None, keep_recent_entries=4),
        *[S(), U("go"), *others, *talking(18)],
    )
    assert skills(await talk.view()) == []
