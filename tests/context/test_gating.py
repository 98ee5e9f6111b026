"""When each stage acts: arrivals at once, the rest over the trigger only, down to the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import FileCompactionArchive
from lovia.context.archive import MemoryArchive
from lovia.transcript import ToolResultEntry
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import FakeModel
from tests.notation import COUNTER, A, C, T, U

if TYPE_CHECKING:
    from pathlib import Path

    from lovia.context import ContextPolicyResult
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def results(view: list[TranscriptEntry]) -> list[ToolResultEntry]:
    """Return the results of a view."""
    return [entry for entry in view if isinstance(entry, ToolResultEntry)]


def shortened(result: ContextPolicyResult) -> list[str]:
    """Return the ids of the results that a view shows a marker of."""
    return [entry.call_id for entry in results(result.entries) if entry.origin == "placeholder"]


def batch(*sizes: int) -> list[TranscriptEntry]:
    """Return one step whose results have so many characters each."""
    ids = [f"c{number}" for number in range(len(sizes))]
    outputs = [T(call_id, "x" * size) for call_id, size in zip(ids, sizes, strict=True)]
    return [*map(C, ids), *outputs]


def steps(count: int, tokens: int, first: int = 0) -> list[TranscriptEntry]:
    """Return so many steps of one call each, with results of a size."""
    numbers = range(first, first + count)
    return [entry for n in numbers for entry in (C(f"s{n}"), T(f"s{n}", f"out{n}", tokens=tokens))]


def trigger_of(result: ContextPolicyResult) -> list[str]:
    """Return the stages that changed something."""
    return [record.name for record in result.stages if record.outcome == "applied"]


async def test_a_large_result_is_archived_at_once(tmp_path: Path) -> None:
    """150,000 characters in a window of 200,000 tokens are archived as they arrive."""
    policy = policy_of(context_window_tokens=200_000, archive=FileCompactionArchive(tmp_path))
    talk = Conversation(policy, U("read it"))
    before = list((await talk.view()).entries)
    output = "line\n" * 30_000
    result = await talk.view(C("a"), T("a", output))
    assert result.sizes is not None
    assert result.sizes.history < 0.25 * 200_000
    assert (result.outcome, result.reason) == ("compacted", "tool_result_budget")
    (path,) = (tmp_path / "tool-results" / "s").iterdir()
    assert path.read_text(encoding="utf-8") == output
    marker = results(result.entries)[0].output
    assert marker.startswith("<persisted-tool-result>\nFull output archived at: ")
    assert path.name in marker
    assert len(marker) < 2_300
    assert result.entries[:1] == before
    replayed = await talk.view(A("read"), U("and?"))
    assert replayed.outcome is None
    assert replayed.entries[:3] == result.entries
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize("size", [19_999, 20_000, 20_001])
async def test_the_limit_of_one_result_is_exclusive(size: int) -> None:
    """A result of exactly the limit is sent whole, one more character and it is not."""
    result = await Conversation(policy_of(), U("go"), *batch(size, 10)).view()
    assert shortened(result) == (["c0"] if size > 20_000 else [])


@pytest.mark.parametrize(
    ("sizes", "gone"),
    [
        ((90_000, 80_000, 70_000), ["c0"]),
        ((70_000, 80_000, 90_000), ["c2"]),
        ((80_000, 80_000, 80_000), ["c0"]),
        ((60_000, 60_000, 60_000), []),
        ((100_000, 100_000), []),
        ((100_000, 100_001), ["c1"]),
        ((90_000, 85_000, 5_000, 95_000, 88_000), ["c0", "c3"]),
    ],
    ids=["first", "last", "ties", "below", "at", "one_over", "two"],
)
async def test_of_a_batch_over_its_budget_the_largest_go_first(
    sizes: tuple[int, ...], gone: list[str]
) -> None:
    """As many of the largest results go as bring the batch within its budget, and no more."""
    policy = policy_of(large_tool_result_chars=150_000, archive=MemoryArchive())
    result = await Conversation(policy, U("go"), *batch(*sizes)).view()
    assert shortened(result) == gone
    shown = sum(len(entry.output) for entry in results(result.entries))
    assert shown <= 200_000


async def test_previews_count_in_the_budget_of_a_batch() -> None:
    """What stays of results that are too large alone is part of what the batch may have."""
    policy = policy_of(
        large_tool_result_chars=500, tool_result_budget_chars=900, tool_result_preview_chars=300
    )
    result = await Conversation(policy, U("go"), *batch(600, 600, 450, 100)).view()
    assert shortened(result) == ["c0", "c1", "c2"]


async def test_budgets_are_for_each_batch() -> None:
    """Two batches within the budget stay, however large they are together."""
    policy = policy_of(large_tool_result_chars=150_000)
    talk = Conversation(policy, U("go"), *batch(90_000, 90_000))
    assert (await talk.view()).outcome is None
    assert (await talk.view(A(), *batch(90_000, 90_000))).outcome is None


async def test_a_result_is_archived_on_arrival_while_its_batch_still_waits() -> None:
    """A large result does not have to wait for the others of its batch, which are unanswered."""
    talk = Conversation(policy_of(), U("go"), C("a"), C("b"), T("a", "x" * 50_000))
    first = await talk.view()
    assert shortened(first) == ["a"]
    assert first.entries[1:3] == [C("a"), C("b")]
    second = await talk.view(T("b", "y" * 50_000))
    assert shortened(second) == ["a", "b"]
    assert second.entries[:4] == first.entries


async def test_what_was_sent_is_not_touched_on_arrival_of_something_else() -> None:
    """Results of an earlier request stay as they were sent when a large one arrives."""
    policy = policy_of(large_tool_result_chars=60_000, tool_result_budget_chars=100_000)
    talk = Conversation(policy, U("go"), *batch(50_000, 45_000))
    first = list((await talk.view()).entries)
    result = await talk.view(A(), *steps(1, 20_000))
    assert shortened(result) == ["s0"]
    assert result.entries[: len(first)] == first


async def test_an_old_large_result_is_archived_before_it_could_be_cleared() -> None:
    """Under pressure a large result that is seen for the first time goes to the archive first."""
    archive = MemoryArchive()
    policy = policy_of(
        context_window_tokens=20_000, archive=archive, keep_recent_tool_results=1, max_entries=None
    )
    start = [U("go"), *batch(60_000), *steps(10, 1_200), U("so?")]
    talk = Conversation(policy, *start)
    result = await talk.view()
    assert "tool_result_budget" in trigger_of(result)
    archived = next(entry for entry in results(result.entries) if entry.call_id == "c0")
    assert archived.output.startswith("<persisted-tool-result>")


@pytest.mark.parametrize("kind", ["texts", "results"])
@pytest.mark.parametrize("size", [50, 100, 400])
async def test_compaction_comes_in_rare_bursts(kind: str, size: int) -> None:
    """The prefix of requests breaks once for each time the gap down to the target is filled."""
    policy = policy_of(FakeModel(), context_window_tokens=20_000, max_entries=None)
    talk = Conversation(policy, U("go"), A("filling", tokens=15_000))
    breaks, result = 0, await talk.view()
    for number in range(20):
        previous = list(result.entries)
        news = steps(1, size, number) if kind == "results" else [A("so", tokens=size)]
        result = await talk.view(*news, U("on", tokens=size))
        breaks += result.entries[: len(previous)] != previous
    assert result.sizes is not None
    grown = result.sizes.history - 16_000
    assert 1 <= breaks <= 1 + grown // 4_000
    assert breaks <= 2 or size == 400


async def test_nothing_happens_between_target_and_trigger() -> None:
    """A request above the target, and not above the trigger, is sent as it is."""
    policy = policy_of(context_window_tokens=10_000, max_entries=None)
    result = await Conversation(policy, U("go"), *steps(30, 230), U("so?")).view()
    assert result.sizes is not None
    assert 6_000 < result.sizes.request_before <= 8_000
    assert (result.outcome, result.changed) == (None, False)


@pytest.mark.parametrize(
    ("count", "tokens", "snipped"),
    [(30, 10, False), (39, 10, False), (40, 10, True), (30, 300, True)],
    ids=["few", "at_the_limit", "too_many", "over_the_trigger"],
)
async def test_the_middle_is_snipped_for_entries_or_for_the_trigger(
    count: int, tokens: int, snipped: bool
) -> None:
    """The middle goes when there are more entries than allowed, or the request is too large."""
    policy = policy_of(
        context_window_tokens=10_000, keep_recent_entries=20, keep_recent_tool_results=10**6
    )
    talk = Conversation(policy, U("go"), *steps(count, tokens), U("so?"))
    result = await talk.view()
    assert ("middle_snip" in trigger_of(result)) is snipped


async def test_a_snip_keeps_beginning_and_end() -> None:
    """The first entries and the newest ones stay; one placeholder says what is gone."""
    policy = policy_of(max_entries=20, keep_initial_entries=3, keep_recent_entries=6)
    start = [U("go"), A("ok"), U("on"), *steps(10, 5), A("so"), U("?")]
    view = (await Conversation(policy, *start).view()).entries
    assert view[:3] == start[:3]
    assert view[4:] == start[-6:]
    assert getattr(view[3], "origin", None) == "placeholder"
    assert "entries 3 to 18" in str(view[3])


async def test_retention_stops_at_the_target() -> None:
    """The oldest results are cleared one by one, and no more than it takes."""
    policy = policy_of(context_window_tokens=10_000, max_entries=None)
    start = [U("go"), *steps(20, 450), U("so?")]
    result = await Conversation(policy, *start).view()
    assert trigger_of(result) == ["tool_result_retention"]
    gone = shortened(result)
    assert gone == [f"s{number}" for number in range(len(gone))]
    assert result.sizes is not None
    assert result.sizes.request_after <= 6_000
    restored = COUNTER.entry(T("s0", "out0", tokens=450)) - COUNTER.entry(
        results(result.entries)[0]
    )
    assert result.sizes.request_after + restored > 6_000


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"keep_recent_tool_results": 5}, {"s7", "s8", "s9", "s10", "s11"}),
        ({"keep_recent_tool_results": 0}, {"s11"}),
        ({"keep_tools": ["search"]}, {f"s{n}" for n in range(12)}),
    ],
    ids=["recent", "newest_step", "tools"],
)
async def test_retention_leaves_what_it_has_to(settings: dict[str, Any], kept: set[str]) -> None:
    """Recent results, the newest step and results of some tools are never cleared."""
    policy = policy_of(context_window_tokens=5_000, max_entries=None, **settings)
    talk = Conversation(policy, U("go"), *steps(12, 500))
    result = await talk.view()
    assert kept.isdisjoint(shortened(result))
    shown = {entry.call_id for entry in results(result.entries)}
    if "keep_tools" not in settings:
        assert kept <= shown


async def test_a_summary_is_written_only_when_clearing_is_not_enough() -> None:
    """The model is asked for what is still above the target after the cheap stages."""
    model = FakeModel()
    policy = policy_of(model, context_window_tokens=10_000, max_entries=None)
    chat: list[TranscriptEntry] = [U("q", tokens=200), A("a", tokens=200)]
    cheap = await Conversation(policy, U("go"), *steps(20, 450), U("so?")).view()
    assert (cheap.reason, model.requests) == ("tool_result_retention", [])
    dear = await Conversation(policy, U("go"), *chat * 20, *steps(4, 450), U("so?")).view()
    assert dear.reason == "auto_summary"
    assert len(model.requests) == 1
    assert summaries(dear.entries)
    assert dear.sizes is not None
    assert dear.sizes.request_after <= 6_000


async def test_the_reactive_stage_waits_for_a_refusal() -> None:
    """In an ordinary pass it is skipped and says why; after a refusal it acts."""
    talk = Conversation(policy_of(context_window_tokens=10_000), U("go"), *steps(30, 450), U("?"))
    result = await talk.view()
    assert [(record.name, record.outcome) for record in result.stages][-1] == (
        "reactive_summary",
        "skipped",
    )
    assert result.stages[-1].note == "the provider refused nothing"
    assert (await talk.refused(3_000)).reason == "reactive_summary"
