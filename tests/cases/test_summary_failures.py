"""A summarizer that fails costs little, stops nothing, and is tried again later."""

from __future__ import annotations

import json
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lovia import Runner, events
from lovia.context import FileCompactionArchive
from lovia.errors import ContextOverflowError, ProviderError, SummaryRejected
from lovia.testing import ScriptedProvider, text
from lovia.transcript import (
    AssistantTextEntry,
    ImagePart,
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
)
from tests.cases.support import Conversation, check_view, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel, PlainSummarizer
from tests.notation import A, C, R, S, T, U
from tests.runtime.support import events_of, kinds, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {"context_window_tokens": 3_000, "max_entries": None}


def turns(start: int, stop: int, tokens: int = 90) -> list[TranscriptEntry]:
    """Return numbered questions and answers."""
    return [
        entry
        for n in range(start, stop)
        for entry in (U(f"u{n}", tokens=tokens), A(f"a{n}", tokens=tokens))
    ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Let a test say what time the circuit breaker takes it for."""
    now = SimpleNamespace(seconds=1_000_000.0)
    fake = SimpleNamespace(time=lambda: now.seconds)
    monkeypatch.setattr("lovia.context.summarizer.breaker.time", fake)
    return now


FAILURES: dict[str, Answer] = {
    "rejected": Answer(""),
    "refused": Answer("I cannot help with that."),
    "not_authorised": Answer("", error=ProviderError("no", status_code=401)),
    "overloaded": Answer("", error=ProviderError("busy", status_code=529)),
    "unreachable": Answer("", error=ConnectionError()),
    "too_large": Answer("", error=ContextOverflowError()),
    "broken": Answer("", error=KeyError("choices")),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_a_summarizer_that_keeps_failing_is_left_alone(
    answer: Answer, clock: SimpleNamespace
) -> None:
    """In 80 turns over the trigger it is asked in a few of them only, and each has its view."""
    model = FakeModel(then=lambda request: answer)
    policy = policy_of(model, **SETTINGS, keep_recent_entries=400, max_summary_failures=3)
    talk = Conversation(policy, S(), *turns(0, 13))
    attempts = 0
    for n in range(13, 93):
        asked = len(model.requests)
        result = await talk.view(*turns(n, n + 1))
        attempts += len(model.requests) > asked
        clock.seconds += 1
        if attempts == 3 and result.outcome is not None:
            assert result.metadata["breaker"] == "open"
    # A request that is too large for anything is not sent a second time.
    assert attempts == (1 if isinstance(answer.error, ContextOverflowError) else 3)
    assert talk.state["compacting"]["breaker"]["opened_at"] is not None


async def test_a_breaker_that_opened_lets_one_attempt_through_after_a_while(
    clock: SimpleNamespace,
) -> None:
    """After the cool-down one attempt is made even if nothing grew; it decides about the next."""
    model = FakeModel(then=lambda request: Answer(""))
    policy = policy_of(model, **SETTINGS, max_summary_failures=2, summary_cooldown_seconds=60)
    talk = Conversation(policy, S(), *turns(0, 14))
    seen = []
    for second in range(200):
        clock.seconds += 1
        asked = len(model.requests)
        result = await talk.view()
        if len(model.requests) > asked:
            seen.append((second, result.metadata["breaker"]))
    assert [state for _, state in seen] == ["closed", "open", "open", "open", "open"]
    waits = [later - sooner for (sooner, _), (later, _) in pairwise(seen[1:])]
    assert waits == [60, 60, 60]

    model._then = lambda request: Answer(GOOD)
    clock.seconds += 60
    result = await talk.view()
    assert result.outcome == "compacted"
    assert result.metadata["breaker"] == "closed"
    assert summaries(result.entries)


async def test_an_open_breaker_is_open_in_the_next_process_too(clock: SimpleNamespace) -> None:
    """A restart does not start the failures over, and the cool-down goes on meanwhile."""
    bad = FakeModel(then=lambda request: Answer(""))
    settings = {**SETTINGS, "max_summary_failures": 1, "summary_cooldown_seconds": 60}
    talk = Conversation(policy_of(bad, **settings), S(), *turns(0, 14))
    assert (await talk.view()).metadata["breaker"] == "open"
    model = FakeModel()
    resumed = talk.resumed(policy_of(model, **settings))
    clock.seconds += 59
    await resumed.view()
    assert model.requests == []
    clock.seconds += 2
    assert summaries((await resumed.view()).entries)


async def test_while_the_breaker_is_open_cheap_stages_keep_the_view_small(
    clock: SimpleNamespace,
) -> None:
    """Without summaries, a long conversation stays inside its window by what costs nothing."""
    model = FakeModel(then=lambda request: Answer(""))
    talk = Conversation(
        policy_of(model, context_window_tokens=3_000, keep_recent_entries=10), S(), U("go")
    )
    for n in range(120):
        clock.seconds += 1
        result = await talk.view(C(f"c{n}"), T(f"c{n}", tokens=120), A(f"a{n}", tokens=40))
        assert result.sizes is not None
        assert result.sizes.request_after <= 3_000
    assert len(json.dumps(talk.state)) < 20_000


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_a_failed_summary_never_stops_a_run_that_fits(answer: Answer) -> None:
    """While the request fits its window it is sent as it is, and answered."""
    provider = ScriptedProvider([text(f"answer {n}") for n in range(4)])
    policy = policy_of(FakeModel(then=lambda request: answer), **SETTINGS)
    for n in range(4):
        agent = scripted(provider=provider, context_policy=policy)
        result = await Runner.run(agent, [S(), *turns(0, 13), U(f"question {n}")])
        assert result.output == f"answer {n}"


#: What a summarizer of somebody's own may raise, its client's errors included.
RAISED: list[Exception] = [
    RuntimeError("bug"),
    ExceptionGroup("several", [ValueError("one"), KeyError("two")]),
    TimeoutError(),
    StopAsyncIteration(),
    RecursionError(),
    MemoryError(),
    ProviderError("busy", status_code=429, retryable=True),
    ContextOverflowError(reported_window=10),
    SummaryRejected("no", reason="refusal"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
async def test_a_summarizer_by_anybody_may_raise_anything(error: Exception) -> None:
    """The run answers without the summary; the failure is the pass's outcome and nothing else."""

    def fail(entries: Any, prior: str | None) -> str:
        raise error

    policy = policy_of(summarizer=PlainSummarizer(fail), **SETTINGS)
    agent = scripted(text("fine"), context_policy=policy)
    seen = await events_of(Runner.stream(agent, [S(), *turns(0, 13), U("now")]))
    last = seen[-1]
    assert isinstance(last, events.RunCompleted)
    assert last.result.output == "fine"
    ended = [event.outcome for event in seen if isinstance(event, events.CompactionEnded)]
    assert ended == ["failed"]
    assert "ContextCompacted" not in kinds(seen)


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_when_nothing_helps_the_refusal_itself_is_raised(answer: Answer) -> None:
    """A request that does not fit and cannot be made smaller fails with the provider's refusal."""
    refusal = ContextOverflowError("too long by far", reported_window=2_000, status_code=400)
    provider = ScriptedProvider([refusal])
    policy = policy_of(FakeModel(then=lambda request: answer), **SETTINGS)
    agent = scripted(provider=provider, context_policy=policy)
    seen = await events_of(Runner.stream(agent, [S(), *turns(0, 13), U("now")]))
    failed = seen[-1]
    assert isinstance(failed, events.RunFailed)
    assert failed.error is refusal
    assert len(provider.requests) == 1
    assert "ContextCompacted" not in kinds(seen)


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("last", ["result", "arguments"])
async def test_one_giant_newest_result_is_made_smaller(
    last: str, archived: bool, tmp_path: Path
) -> None:
    """When all that is too large is the newest step, that step shrinks; no summary is asked for."""
    archive = FileCompactionArchive(tmp_path) if archived else None
    policy = policy_of(
        summarizer=PlainSummarizer(),
        context_window_tokens=200_000,
        large_tool_result_chars=10_000_000,
        tool_result_budget_chars=10_000_000,
        archive=archive,
    )
    giant = "x" * 1_200_000
    call = C("c", "write", json.dumps({"text": giant})) if last == "arguments" else C("c")
    result = T("c", "ok" if last == "arguments" else giant)
    talk = Conversation(policy, U("go"), call)
    await talk.view(result)
    view = await talk.refused(200_000)
    assert view.outcome == "compacted"
    assert view.sizes is not None
    assert view.sizes.request_after < 5_000
    assert [type(entry) for entry in view.entries] == [InputEntry, ToolCallEntry, ToolResultEntry]
    if archived and last == "result":
        assert archive is not None
        marker = view.entries[-1]
        assert isinstance(marker, ToolResultEntry)
        uri = marker.output.partition("archived at: ")[2].partition("\n")[0]
        assert await archive.load(uri) == giant


@pytest.mark.parametrize("shape", ["no_tools", "thoughts", "dead_call", "images"])
async def test_a_summary_request_is_plain_text(shape: str) -> None:
    """No call, no result, no thought and no tool is in a summary request, whatever it is about."""
    model = FakeModel()
    steps: dict[str, list[TranscriptEntry]] = {
        "no_tools": [U("u"), A("a")],
        "thoughts": [R("hm", signature="s" * 90), C("c"), T("c")],
        "dead_call": [C("c"), U("and?"), A("a")],
        "images": [U(parts=[ImagePart(data="aGk=", mime_type="image/png")]), A("seen")],
    }
    talk = Conversation(policy_of(model, **SETTINGS), S(), U("go"))
    for n in range(12):
        await talk.view(*steps[shape], *turns(n, n + 1))
    await talk.compacted()
    assert model.requests
    for request in model.requests:
        assert all(isinstance(e, (InputEntry, AssistantTextEntry)) for e in request.entries)
        assert all(isinstance(e.content, str) for e in request.entries)  # type: ignore[union-attr] # see above
        assert not request.tools
        roles = [getattr(e, "role", "assistant") for e in request.entries]
        assert roles in (["system", "user"], ["system", "user", "assistant", "user"])
        check_view(request.entries, request.entries)


async def test_a_summarizer_that_recovers_in_the_middle_keeps_its_first_folds() -> None:
    """Folds before a failure stand; the pass is partly useful, and the next goes on from there."""
    model = FakeModel(GOOD, GOOD, Answer(""), Answer(""), window=1_400)
    talk = Conversation(policy_of(model, **SETTINGS), S(), *turns(0, 26))
    first = await talk.view()
    assert first.outcome == "partial"
    assert first.reason == "auto_summary"
    assert first.metadata["breaker"] == "closed"
    assert summaries(first.entries)
    read = len(model.requests)
    again = await talk.view(*turns(26, 30))
    assert again.outcome == "compacted"
    later = "\n".join(request.text for request in model.requests[read:])
    assert "u0 u0" not in later
    assert "u25 u25" in later or U("u25", tokens=90) in again.entries
