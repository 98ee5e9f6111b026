"""No cut leaves a result without its call, or a call without its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import CheckpointOptions, InMemoryCheckpointer, Runner, events, tool
from lovia.errors import ProviderError
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import ToolCallEntry, ToolResultEntry
from lovia.transcript.pairing import legal_cuts
from tests.cases.support import Conversation, check_view, policy_of, summaries
from tests.context.summarizer.fakes import GOOD
from tests.notation import COUNTER, A, C, R, T, U
from tests.runtime.support import events_of, scripted

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


@tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def calls_in(view: list[TranscriptEntry]) -> list[str]:
    """Return the ids of all calls of a view."""
    return [entry.call_id for entry in view if isinstance(entry, ToolCallEntry)]


def results_in(view: list[TranscriptEntry]) -> list[str]:
    """Return the ids that the results of a view answer."""
    return [entry.call_id for entry in view if isinstance(entry, ToolResultEntry)]


def wide_batch(tokens: int) -> list[TranscriptEntry]:
    """Return ten parallel calls and their results."""
    ids = [f"c{number}" for number in range(10)]
    return [*map(C, ids), *(T(call_id, tokens=tokens) for call_id in ids)]


@pytest.mark.parametrize(
    "transcript",
    [
        [C("b"), T("a"), T("b"), U(), A()],
        [T("a"), C("b"), T("b"), U(), A()],
        [U(), C("b"), T("b"), T("a"), T("b"), A(), U()],
        [T("a"), T("a"), U(), C("a"), T("a"), T("a"), A()],
        [U(), C("b"), T("a"), U(), A()],
    ],
    ids=["inside_a_batch", "first", "twice", "before_and_after_its_call", "beside_a_dead_call"],
)
@pytest.mark.parametrize("max_entries", [None, 2])
async def test_a_result_whose_call_is_gone_is_not_shown(
    transcript: list[TranscriptEntry], max_entries: int | None
) -> None:
    """A result that no call asked for is in no view; all others come with their call."""
    policy = policy_of(max_entries=max_entries, keep_initial_entries=0, keep_recent_entries=1)
    talk = Conversation(policy, *transcript)
    first = (await talk.view()).entries
    later = (await talk.view(U("more"), A(), U("and more"))).entries
    for view in (first, later):
        assert sorted(results_in(view)) == sorted(calls_in(view))


@pytest.mark.parametrize("how", ["entries", "threshold", "refused", "manual"])
@pytest.mark.parametrize("keep", range(6))
async def test_no_cut_brings_back_a_result_whose_call_is_gone(how: str, keep: int) -> None:
    """Wherever a cut falls beside such a result, it is not shown, and others keep their calls."""
    policy = policy_of(
        context_window_tokens=700 if how == "threshold" else None,
        max_entries=6 if how == "entries" else None,
        keep_initial_entries=1,
        keep_recent_entries=keep,
        reactive_keep_recent_entries=keep,
    )
    torn: list[TranscriptEntry] = [C("b"), T("a", tokens=90), T("b", tokens=90), U(), A()]
    talk = Conversation(policy, U("go"), *torn, *torn, *torn, U("so?"))
    if how == "refused":
        view = (await talk.refused(500)).entries
    elif how == "manual":
        view = (await talk.compacted()).entries
    else:
        view = (await talk.view()).entries
    assert "a" not in results_in(view)
    assert results_in(view) == calls_in(view)


@pytest.mark.parametrize("keep", range(12))
@pytest.mark.parametrize("after", [0, 1])
async def test_a_tail_that_would_begin_inside_a_batch_takes_all_of_it(
    keep: int, after: int
) -> None:
    """Whatever number of entries is kept, a batch of ten calls is in the view whole or not."""
    policy = policy_of(
        context_window_tokens=400, max_entries=8, keep_initial_entries=1, keep_recent_entries=keep
    )
    rest: list[TranscriptEntry] = [A(), U("next")] * after
    talk = Conversation(policy, U("go"), *wide_batch(50), *rest)
    view = (await talk.view()).entries
    assert len(calls_in(view)) in {0, 10}
    assert len(results_in(view)) in {0, 10}


def test_no_legal_cut_lies_inside_a_batch() -> None:
    """The only places at which a batch can be cut off are before it and after it."""
    assert legal_cuts([U(), *wide_batch(1)]) == [0, 1, 21]


async def test_going_on_after_a_compaction_sends_a_valid_request() -> None:
    """When the last call and its result were summarised, the next request holds neither."""
    policy = policy_of(keep_initial_entries=0, reactive_keep_recent_entries=1)
    talk = Conversation(policy, U("go"), C("a"), T("a", tokens=400), A("read it"), U("well?"))
    compacted = await talk.compacted()
    assert [entry.content for entry in summaries(compacted.entries)]
    view = (await talk.view(A("ok"), U("continue"))).entries
    assert calls_in(view) == results_in(view) == []
    assert view[-1] == U("continue")


async def test_a_request_that_stays_refused_fails_once() -> None:
    """A 400 after a compaction surfaces as one failure, and nothing is asked again."""
    refusal = ProviderError("messages: unexpected tool_use_id", status_code=400, retryable=False)
    provider = ScriptedProvider([refusal, text("never asked for")], summarize=GOOD)
    policy = policy_of(
        summarizer=None, context_window_tokens=600, keep_initial_entries=0, keep_recent_entries=1
    )
    start: Any = [U("go"), C("a"), T("a", tokens=800), A("read it"), U("continue")]
    seen = await events_of(Runner.stream(scripted(provider=provider, context_policy=policy), start))
    turns = [request for request in provider.requests if not request.is_summary]
    assert len(turns) == 1
    assert len([event for event in seen if isinstance(event, events.ContextCompacted)]) == 1
    failures = [event for event in seen if isinstance(event, events.RunFailed)]
    assert [failure.error for failure in failures] == [refusal]
    check_view(turns[0].entries, start)


@pytest.mark.parametrize("before", [[], [A("let me ask")], [C("z"), T("z")]])
@pytest.mark.parametrize("max_entries", [None, 6])
async def test_a_call_that_waits_for_consent_stays(
    before: list[TranscriptEntry], max_entries: int | None
) -> None:
    """However much is said meanwhile, the call is there when its answer comes at last."""
    policy = policy_of(context_window_tokens=1_000, max_entries=max_entries, keep_initial_entries=1)
    waiting = frozenset({"a"})
    talk = Conversation(policy, U("go"), *before, C("a"))
    view: list[TranscriptEntry] = []
    for number in range(12):
        news: list[TranscriptEntry] = [U(f"q{number}", tokens=100), A(f"a{number}", tokens=100)]
        view = (await talk.view(*news, pending_calls=waiting)).entries
        assert "a" in calls_in(view)
        assert "a" not in results_in(view)
    assert bool(summaries(view)) is (max_entries is None)
    view = (await talk.view(T("a", "approved"))).entries
    assert T("a", "approved") in view
    assert results_in(view).count("a") == 1


@pytest.mark.parametrize("how", ["refused", "manual"])
async def test_no_kind_of_pass_takes_away_a_call_that_waits(how: str) -> None:
    """A refusal or a request to compact folds what is around the call, and the call stays."""
    policy = policy_of(keep_initial_entries=0, reactive_keep_recent_entries=1)
    chat: list[TranscriptEntry] = [U("q", tokens=100), A("a", tokens=100)]
    talk = Conversation(policy, U("go"), *chat * 3, R("pay?"), C("a"), pending_calls={"a"})
    await talk.view(*chat * 4, U("well?"))
    result = await (talk.refused(800) if how == "refused" else talk.compacted())
    assert summaries(result.entries)
    assert calls_in(result.entries) == ["a"]
    assert results_in(result.entries) == []
    view = (await talk.view(T("a", "approved"), pending_calls=())).entries
    assert T("a", "approved") in view
    assert calls_in(view) == results_in(view) == ["a"]


@pytest.mark.parametrize("approve", [True, False])
async def test_a_run_that_waited_for_consent_sends_the_call_with_its_answer(approve: bool) -> None:
    """A long run that was left waiting, and saved, goes on with the call it asked about."""

    def agent(*script: Any) -> Any:
        provider = ScriptedProvider(script, summarize=GOOD, counter=COUNTER, usage="counted")
        policy = policy_of(
            summarizer=None,
            context_window_tokens=1_500,
            keep_initial_entries=0,
            keep_recent_entries=1,
        )
        return scripted(provider=provider, context_policy=policy, tools=[pay])

    def defer(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired):
            event.defer()

    store = InMemoryCheckpointer()
    start: Any = [*(U("q", tokens=100), A("a", tokens=100)) * 8, U("pay him")]
    asks = agent(call("pay"))
    seen = await events_of(
        Runner.stream(asks, start, checkpoint=CheckpointOptions(store, "r")), defer
    )
    assert any(isinstance(event, events.ContextCompacted) for event in seen)
    answered = CheckpointOptions(store, "r", approvals={"call_pay": approve})
    goes_on = agent(text("done"))
    result = await Runner.run(goes_on, start, checkpoint=answered)
    assert result.output == "done"
    sent = goes_on.model.requests[-1].entries
    assert calls_in(sent) == results_in(sent) == ["call_pay"]
    assert ("paid" in str(sent[-1])) is approve


@pytest.mark.parametrize("tokens", [30, 300])
async def test_a_call_that_died_does_not_stop_compaction(tokens: int) -> None:
    """A call whose process is gone is snipped, or summarised, like the rest."""
    policy = policy_of(context_window_tokens=4_000, max_entries=None, keep_initial_entries=1)
    talk = Conversation(policy, U("go"), C("x"))
    view: list[TranscriptEntry] = []
    for number in range(200):
        result = await talk.view(U(f"q{number}", tokens=tokens), A(f"a{number}", tokens=tokens))
        assert result.sizes is not None
        assert result.sizes.request_after <= 4_000
        view = result.entries
    assert len(view) < 100
    assert "x" not in calls_in(view)
    assert bool(summaries(view)) is (tokens == 300)


async def test_a_dead_call_is_shown_with_a_placeholder() -> None:
    """While a dead call is in the view, a result that says so answers it, and only once."""
    talk = Conversation(policy_of(), U("go"), C("x"), C("y"), T("y"))
    assert (await talk.view()).entries == talk.transcript  # x may still be answered
    view = (await talk.view(U("hello?"))).entries
    assert results_in(view) == ["y", "x"]
    assert (await talk.view(A("hi"), U("bye"))).entries[: len(view)] == view


async def test_an_old_dead_call_is_not_kept_open_by_a_new_one_of_its_id() -> None:
    """Waiting is a matter of the newest call of an id: an older one that died gets its answer."""
    old: list[TranscriptEntry] = [U("go"), C("call_0"), U("still there?"), A("yes")]
    talk = Conversation(policy_of(), *old, U("again"), C("call_0"), U("waiting"))
    view = (await talk.view(pending_calls=frozenset({"call_0"}))).entries
    assert calls_in(view) == ["call_0", "call_0"]
    assert results_in(view) == ["call_0"]
    assert view[2] == ToolResultEntry("call_0", "no result was recorded", origin="placeholder")


async def test_a_call_that_waits_dies_when_a_newer_one_takes_its_id() -> None:
    """The id of a waiting call in a newer batch means the newer call: the older one is answered."""
    talk = Conversation(policy_of(), U("go"), C("b"), U("hm"), pending_calls=frozenset({"b"}))
    assert results_in((await talk.view()).entries) == []
    view = (await talk.view(C("a"), C("b"), T("a"))).entries
    assert results_in(view) == ["b", "a"]
    assert view[2] == ToolResultEntry("b", "no result was recorded", origin="placeholder")


@pytest.mark.parametrize("max_entries", [None, 12])
async def test_a_late_answer_brings_its_call_back(max_entries: int | None) -> None:
    """A call that was summarised or snipped as dead is shown again with the answer that came."""
    policy = policy_of(context_window_tokens=2_000, max_entries=max_entries, keep_initial_entries=1)
    talk = Conversation(policy, U("go"), C("x"), C("y"), T("y"))
    chat: list[TranscriptEntry] = [U("q", tokens=100), A("a", tokens=100)]
    view: list[TranscriptEntry] = []
    for _ in range(12):
        view = (await talk.view(*chat)).entries
    assert "x" not in calls_in(view)
    view = (await talk.view(T("x", "late"), U("and?"))).entries
    assert calls_in(view) == ["x", "y"]
    assert results_in(view) == ["y", "x"]
    for _ in range(12):
        view = (await talk.view(*chat)).entries
    assert calls_in(view) == results_in(view) == []


async def test_one_call_dies_while_another_is_answered_late() -> None:
    """A late answer and a newly dead call in one turn: each call has one result."""
    talk = Conversation(policy_of(), U("go"), C("b"), U("hello?"))
    await talk.view()
    view = (await talk.view(T("b", "late"), C("c"), U("and?"))).entries
    assert sorted(results_in(view)) == ["b", "c"]
    assert T("b", "late") in view
