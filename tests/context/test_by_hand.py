"""A compaction that somebody asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import ExtractiveSummarizer, FileCompactionArchive
from lovia.transcript import ToolResultEntry
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel
from tests.notation import A, C, S, T, U

if TYPE_CHECKING:
    from pathlib import Path

    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def turns(start: int, stop: int, tokens: int = 60) -> list[TranscriptEntry]:
    """Return numbered turns with a call each."""
    said: list[TranscriptEntry] = []
    for n in range(start, stop):
        said += [U(f"u{n}", tokens=tokens), C(f"c{n}"), T(f"c{n}", f"t{n}", tokens=tokens)]
        said += [A(f"a{n}", tokens=tokens)]
    return said


@pytest.mark.parametrize("window", [None, 100_000])
async def test_everything_before_a_short_tail_is_summarised(window: int | None) -> None:
    """Whatever the size of the request, and whether or not anybody knows the window."""
    model = FakeModel()
    talk = Conversation(
        policy_of(model, context_window_tokens=window, reactive_keep_recent_entries=6),
        *(S(), *turns(0, 12)),
    )
    result = await talk.compacted()
    assert (result.outcome, result.reason) == ("compacted", "manual_summary")
    assert result.summary is not None
    assert result.summary.startswith(GOOD.strip())
    assert len(summaries(result.entries)) == 1
    assert result.entries[-5:] == talk.transcript[-5:]  # of six the first would split a step
    assert len(result.entries) <= 5 + 1 + 3
    read = "\n".join(request.text for request in model.requests)
    shown = "\n".join(map(str, result.entries))
    for n in range(12):
        for letter in "uta":
            assert f"{letter}{n} {letter}{n}" in read + shown


async def test_the_summary_dwells_on_what_was_asked_for() -> None:
    """The focus is in every summary request of this pass, quoted, and in none after it."""
    model = FakeModel(window=1_500)
    talk = Conversation(policy_of(model, context_window_tokens=None), S(), *turns(0, 12))
    await talk.compacted(focus="the port </focus> numbers")
    assert len(model.requests) >= 2
    for request in model.requests:
        assert "<focus>\nthe port &lt;/focus> numbers\n</focus>" in request.text
    model.requests.clear()
    await talk.view(*turns(12, 20))
    await talk.compacted()
    assert model.requests
    assert not any("<focus>" in request.text for request in model.requests)


async def test_what_was_decided_by_hand_stays_decided() -> None:
    """The next turns replay the view, in this process and in the next, without another call."""
    model = FakeModel()
    talk = Conversation(policy_of(model), S(), *turns(0, 12))
    first = (await talk.compacted()).entries
    asked = len(model.requests)
    again = await talk.view(U("more"))
    assert again.view == "replayed"
    assert again.entries == [*first, U("more")]
    resumed = await talk.resumed(policy_of(model)).view()
    assert resumed.entries == again.entries
    assert len(model.requests) == asked


@pytest.mark.parametrize("said", [[U("hello")], [S(), U("hello"), A("hi")], turns(0, 1)])
async def test_nothing_to_summarise_is_no_failure(said: list[TranscriptEntry]) -> None:
    """A short conversation is left alone, and the outcome says so."""
    model = FakeModel()
    talk = Conversation(policy_of(model), *said)
    result = await talk.compacted()
    assert (result.outcome, result.reason, result.summary) == ("noop", None, None)
    assert result.entries == said
    assert model.requests == []


async def test_asking_twice_pays_once() -> None:
    """A second request without anything new in between changes nothing."""
    model = FakeModel()
    talk = Conversation(policy_of(model), S(), *turns(0, 12))
    first = await talk.compacted()
    asked = len(model.requests)
    second = await talk.compacted()
    assert second.entries == first.entries
    assert second.outcome == "noop"
    assert len(model.requests) == asked


async def test_a_failed_request_leaves_the_view_as_it_was() -> None:
    """When the summary fails, nothing else is done in its place."""
    model = FakeModel(then=lambda request: Answer(""))
    talk = Conversation(policy_of(model), S(), *turns(0, 12))
    result = await talk.compacted()
    assert result.outcome == "failed"
    assert result.entries == talk.transcript


async def test_what_it_removes_is_archived_once(tmp_path: Path) -> None:
    """The reference leads to the entries that this pass took out, and the next to only new ones."""
    archive = FileCompactionArchive(tmp_path)
    policy = policy_of(summarizer=ExtractiveSummarizer(), archive=archive)
    talk = Conversation(policy, S(), *turns(0, 12))
    first = await talk.compacted()
    assert first.archive_ref is not None
    gone = [entry for entry in talk.transcript if entry not in first.entries]
    assert await archive.load(first.archive_ref) == gone
    second = await talk.view(*turns(12, 24))
    second = await talk.compacted()
    assert second.archive_ref is not None
    kept: Any = await archive.load(second.archive_ref)
    assert not any(entry in gone for entry in kept)
    assert [*gone, *kept] == [e for e in talk.transcript if e not in second.entries]


async def test_pinned_and_open_steps_stay() -> None:
    """Neither what is pinned nor a call that waits for its answer goes into the summary."""
    pinned = U("never forget this")
    policy = policy_of(pinned=lambda entry: entry == pinned)
    told = {"pending_calls": frozenset({"open"})}
    said = [S(), pinned, *turns(0, 6), C("open"), *turns(6, 14)]
    talk = Conversation(policy, *said, **told)
    result = await talk.compacted()
    assert pinned in result.entries
    assert C("open") in result.entries
    assert summaries(result.entries)


async def test_results_of_kept_tools_are_neither_cleared_nor_snipped() -> None:
    """However old, they stay where they were while others around them go."""
    policy = policy_of(
        context_window_tokens=2_500,
        max_entries=40,
        keep_recent_entries=12,
        keep_tools={"skill"},
        keep_recent_tool_results=0,
    )
    talk = Conversation(policy, S(), U("go"), C("k", "skill"), T("k", "how to", tokens=90))
    for n in range(40):
        await talk.view(*turns(n, n + 1, tokens=40))
    view = (await talk.view()).entries
    kept = [e for e in view if isinstance(e, ToolResultEntry) and e.call_id == "k"]
    assert kept == [T("k", "how to", tokens=90)]
    assert any(getattr(entry, "origin", "") == "placeholder" for entry in view)
