"""What stands where in a view: system messages, the summary, reused ids, the newest request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.archive import MemoryArchive
from lovia.context.recall import RecallSource, recall
from lovia.context.stages import AutoSummaryStage
from lovia.context.summarizer import LLMSummarizer
from lovia.transcript import InputEntry, ToolCallEntry, ToolResultEntry
from lovia.transcript.pairing import Pairing
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import FakeModel
from tests.notation import A, C, S, T, U

if TYPE_CHECKING:
    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def chat(turns: int, tokens: int = 200) -> list[TranscriptEntry]:
    """Return a conversation in which each message has so many tokens."""
    kinds: list[Any] = [U, A]
    return [kinds[n % 2](f"m{n}", tokens=tokens) for n in range(2 * turns)]


def rule(number: int, tokens: int) -> InputEntry:
    """Return a later system message; every other one is a developer's."""
    text = f"rule {number} " + "x" * (4 * tokens - 20)
    return InputEntry("developer" if number % 2 else "system", text)


def system_in(result: ContextPolicyResult) -> list[TranscriptEntry]:
    """Return the system and developer messages of a view."""
    return [e for e in result.entries if isinstance(e, InputEntry) and e.role != "user"]


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((100, 100, 100), (0, 1, 2)),
        ((400, 400, 400), (1, 2)),
        ((400, 960, 50), (2,)),
        ((50, 50, 1_100), ()),
        ((600,), (0,)),
    ],
    ids=["all", "newest_two", "newest_one", "newest_too_large", "one"],
)
@pytest.mark.parametrize("how", ["threshold", "entries", "refused", "manual"])
async def test_later_system_messages_stay_within_a_tenth_of_the_window(
    how: str, sizes: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    """Newest first they stay word for word while they fit together; the rest goes like the rest."""
    policy = policy_of(
        context_window_tokens=10_000 if how != "refused" else 12_000,
        max_entries=40 if how == "entries" else None,
        keep_recent_entries=8,
        reactive_keep_recent_entries=4,
    )
    tokens = 300 if how in {"threshold", "refused"} else 20
    rules = [rule(number, size) for number, size in enumerate(sizes)]
    start: list[TranscriptEntry] = [S("first"), *chat(3, tokens)]
    for one in rules:
        start += [one, *chat(4, tokens)]
    talk = Conversation(policy, *start, *chat(20 - 4 * len(sizes), tokens), U("so?"))
    if how == "refused":
        result = await talk.refused(10_000)
    elif how == "manual":
        result = await talk.compacted()
    else:
        result = await talk.view()
    assert result.outcome == "compacted"
    assert system_in(result) == [start[0], *(rules[number] for number in kept)]


async def test_without_a_window_all_system_messages_stay() -> None:
    """Where nobody knows the window, no system message is given up."""
    policy = policy_of(max_entries=20, keep_recent_entries=6)
    rules = [rule(number, 2_000) for number in range(4)]
    start = [entry for one in rules for entry in (one, *chat(4, 10))]
    result = await Conversation(policy, U("go"), *start, U("so?")).view()
    assert result.outcome == "compacted"
    assert system_in(result) == rules


@pytest.mark.parametrize("keep", [0, 1, 5])
async def test_the_summary_stands_where_the_covered_range_stood(keep: int) -> None:
    """What came before the covered range is before the summary, what came after it is after it."""
    policy = policy_of(context_window_tokens=4_000, max_entries=None, keep_initial_entries=keep)
    start = [U("go"), A("ok"), U("a"), A("b"), *chat(20)]
    talk = Conversation(policy, *start, U("so?"))
    view = (await talk.view()).entries
    (summary,) = summaries(view)
    at = view.index(summary)
    assert view[:at] == start[:at]
    assert at == keep
    rest = view[at + 1 :]
    assert rest == talk.transcript[-len(rest) :]


async def test_the_summary_keeps_its_place_as_it_grows() -> None:
    """Later summaries cover more, at the same place, and there is one at a time."""
    policy = policy_of(context_window_tokens=4_000, max_entries=None, keep_initial_entries=1)
    talk = Conversation(policy, U("go"), *chat(20), U("so?"))
    covered = 0
    for number in range(20):
        view = (await talk.view(A(f"{number}", tokens=200), U("on", tokens=50))).entries
        assert view[0] == U("go")
        assert view.index(summaries(view)[0]) == 1
        assert len(summaries(view)) == 1
        ((start, stop),) = talk.state["compacting"]["summary"]["covers"]
        assert start == 1
        assert stop >= covered
        covered = stop


@pytest.mark.parametrize("after", [1, 30])
async def test_the_newest_message_is_never_covered(after: int) -> None:
    """However long ago it was, the newest message of the user is in the view, word for word."""
    policy = policy_of(
        FakeModel(), context_window_tokens=4_000, max_entries=None, keep_recent_entries=4
    )
    steps = [entry for n in range(after) for entry in (C(f"c{n}"), T(f"c{n}", tokens=150))]
    newest = U("THE newest request", tokens=30)
    talk = Conversation(policy, U("old"), *chat(12), newest, *steps, A("done"))
    for result in (await talk.view(), await talk.compacted(), await talk.refused(3_000)):
        assert result.entries.count(newest) == 1
        placeholders = {"summary", "placeholder"}
        others = [
            entry
            for entry in result.entries[result.entries.index(newest) + 1 :]
            if isinstance(entry, InputEntry) and entry.origin not in placeholders
        ]
        assert others == []


def one_id(steps: int, tokens: int) -> list[TranscriptEntry]:
    """Return steps that all use one call id, each with a result of its own."""
    kinds: list[list[TranscriptEntry]] = [
        [C("call_0", arguments=f'{{"q": {n}}}'), T("call_0", f"out{n}", tokens=tokens)]
        for n in range(steps)
    ]
    return [entry for step in kinds for entry in step]


def check_pairs(view: list[TranscriptEntry]) -> None:
    """Each call of a view is answered by its own result, or by a marker of that."""
    pairing = Pairing(view)
    for index, entry in enumerate(view):
        if isinstance(entry, ToolCallEntry) and entry.call_id == "call_0":
            answer = view[pairing.partner[index]]
            assert isinstance(answer, ToolResultEntry)
            number = entry.arguments.split()[1].rstrip("}")
            if answer.origin == "conversation":
                assert answer.output.startswith(f"out{number} ")
            elif answer.output.startswith("["):
                assert f"entry {2 + 2 * int(number)}," in answer.output
            else:
                assert f"\nout{number} " in answer.output


@pytest.mark.parametrize("how", ["retention", "entries", "arrival", "summary", "refused"])
async def test_calls_of_one_id_are_told_apart(how: str) -> None:
    """Where a model uses one id for every call, each call keeps the result that answered it."""
    summarizer = LLMSummarizer(FakeModel())
    policy = policy_of(
        context_window_tokens=4_000 if how in {"retention", "summary"} else None,
        max_entries=20 if how == "entries" else None,
        large_tool_result_chars=500 if how == "arrival" else 10**6,
        keep_recent_entries=8,
        stages=[AutoSummaryStage(summarizer, keep_recent=8)] if how == "summary" else None,
        archive=MemoryArchive(),
        tool_result_preview_chars=200,
    )
    talk = Conversation(policy, U("go"), *one_id(24, 150))
    result = await talk.refused(3_000) if how == "refused" else await talk.view()
    assert result.outcome == "compacted"
    check_pairs(result.entries)
    result = await talk.view(*one_id(24, 150)[:2], U("so?"))
    check_pairs(result.entries[:-3])


async def test_results_of_one_id_are_kept_apart_in_the_archive() -> None:
    """Each marker's address leads to the text that it stands for."""
    archive = MemoryArchive()
    policy = policy_of(large_tool_result_chars=500, archive=archive, tool_result_preview_chars=50)
    talk = Conversation(policy, U("go"), *one_id(6, 200))
    view = (await talk.view()).entries
    results = [entry for entry in view if isinstance(entry, ToolResultEntry)]
    originals = [entry for entry in talk.transcript if isinstance(entry, ToolResultEntry)]
    addresses = [entry.output.splitlines()[1].split(": ", 1)[1] for entry in results]
    assert len(set(addresses)) == 6
    for address, original in zip(addresses, originals, strict=True):
        assert await archive.load(address) == original.output
    source = RecallSource(talk.transcript, archive, session_id="s")
    for number, original in enumerate(originals, 1):
        answer = await recall({"call_id": "call_0", "occurrence": number}, source)
        assert original.output in answer


async def test_dead_calls_of_one_id_each_get_their_placeholder() -> None:
    """Calls of one id that died at different times are each answered where they stand."""
    start: list[TranscriptEntry] = [
        *(U("go"), C("call_0"), U("hello?")),
        *(A("sorry"), C("call_0"), C("call_0"), U("again?")),
        *(C("call_0"), T("call_0", "at last"), A("done")),
    ]
    view = (await Conversation(policy_of(), *start).view()).entries
    answers = [e.output for e in view if isinstance(e, ToolResultEntry)]
    assert answers == ["no result was recorded"] * 3 + ["at last"]
    assert [type(entry) for entry in view[5:9]] == [ToolCallEntry] * 2 + [ToolResultEntry] * 2
