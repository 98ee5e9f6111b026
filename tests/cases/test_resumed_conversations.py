"""What compaction decided survives the process, whole or not at all."""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import CheckpointOptions, Runner, SQLiteCheckpointer, SQLiteSession, events, tool
from lovia.context import FileCompactionArchive, PolicyContext
from lovia.stores import InMemorySession
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import ToolResultEntry, entries_from_json, entries_to_json
from lovia_otel import names
from tests.cases import killed_program
from tests.cases.interrupting import Watched, cancelled_at
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel
from tests.notation import A, C, S, T, U, words
from tests.paths import REPO
from tests.runtime.support import events_of, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia.context import CompactingContextPolicy
    from lovia.transcript import TranscriptEntry
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio


def turns(start: int, stop: int, tokens: int = 60) -> list[TranscriptEntry]:
    """Return numbered turns; the texts of each differ from all others throughout."""
    said: list[TranscriptEntry] = []
    for n in range(start, stop):
        said += [U(f"u{n}", tokens=tokens), C(f"c{n}"), T(f"c{n}", f"t{n}", tokens=tokens)]
        said += [A(f"a{n}", tokens=tokens)]
    return said


def bytes_of(view: list[TranscriptEntry]) -> bytes:
    """Return a view as it would go over a wire."""
    return json.dumps(entries_to_json(view)).encode()


SETTINGS: dict[str, Any] = {
    "context_window_tokens": 2_000,
    "max_entries": 60,
    "keep_recent_entries": 40,
    "large_tool_result_chars": 2_000,
    "tool_result_preview_chars": 100,
}


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + words(90, f"p{page}")


async def test_a_resumed_conversation_summarises_nothing_again(tmp_path: Path) -> None:
    """In a new process the view has the same bytes, no pass runs, and no summary is asked for."""
    archive = FileCompactionArchive(tmp_path)
    talk = Conversation(policy_of(**SETTINGS, archive=archive), S())
    for number in range(40):
        await talk.view(*turns(number, number + 1))
        if number % 7 == 0:
            await talk.view(C(f"l{number}"), T(f"l{number}", "big", tokens=800))
    before = await talk.view()
    assert summaries(before.entries)

    model = FakeModel()
    resumed = talk.resumed(policy_of(model, **SETTINGS, archive=archive))
    resumed.transcript = entries_from_json(entries_to_json(talk.transcript))
    after = await resumed.view()
    assert bytes_of(after.entries) == bytes_of(before.entries)
    assert after.outcome is None
    assert after.view == "replayed"
    assert model.requests == []


async def test_a_run_in_the_same_session_takes_over_the_summary() -> None:
    """The next run of a session, with new objects throughout, sends the last run's summary."""
    session = InMemorySession()

    def provider(*answers: str) -> ScriptedProvider:
        return ScriptedProvider([text(a) for a in answers], summarize=GOOD, usage="counted")

    def policy() -> CompactingContextPolicy:
        return policy_of(summarizer=None, **SETTINGS)

    first, second = provider("one"), provider("two")
    told: dict[str, Any] = {"session": session, "session_id": "s"}
    agent = scripted(provider=first, context_policy=policy())
    await Runner.run(agent, [*turns(0, 14), U("first")], **told)
    agent = scripted(provider=second, context_policy=policy())
    await Runner.run(agent, "second", **told)
    assert any(request.is_summary for request in first.requests)
    (request,) = second.requests
    sent = first.requests[-1].entries
    assert summaries(sent)
    assert bytes_of(request.entries[: len(sent)]) == bytes_of(sent)


async def test_a_run_that_is_resumed_pays_for_no_summary_again(tmp_path: Path) -> None:
    """After a stop, new objects throughout go on from the same view, and spending adds up once."""
    checkpoint = CheckpointOptions(SQLiteCheckpointer(tmp_path / "runs.db"), "r1")

    def reader(first: int, pages: int) -> tuple[Any, ScriptedProvider]:
        calls = (call("read", {"page": n}, call_id=f"c{n}") for n in range(first, pages))
        provider = ScriptedProvider([*calls, text("all read")], summarize=GOOD, usage="counted")
        policy = policy_of(**{**SETTINGS, "keep_recent_tool_results": 20}, summarizer=None)
        return scripted(provider=provider, tools=[read], context_policy=policy), provider

    agent, before = reader(0, 40)
    passes = 0
    async with Runner.stream(agent, "read all", checkpoint=checkpoint) as handle:
        async for event in handle:
            passes += isinstance(event, events.ContextCompacted)
            if isinstance(event, events.TurnEnded) and passes == 3:
                handle.cancel("shutdown")
    summarised = [request for request in before.requests if request.is_summary]
    assert summarised

    agent, after = reader(40, 41)
    result = await Runner.run(agent, "read all", checkpoint=checkpoint)
    assert result.output == "all read"
    assert not any(request.is_summary for request in after.requests)
    sent = before.requests[-1].entries
    resumed = after.requests[0].entries
    assert summaries(sent)
    assert bytes_of(resumed[: len(sent)]) == bytes_of(sent)
    asked = [*before.requests, *after.requests]
    assert result.usage.input_tokens == sum(request.tokens for request in asked)
    assert result.usage.summary.input_tokens == sum(request.tokens for request in summarised)


@pytest.mark.parametrize("how", ["by_hand", "by_size", "by_refusal"])
async def test_what_one_compaction_kept_is_not_lost_in_the_next(how: str) -> None:
    """After three compactions each entry is in the view, in a summary, or behind a marker."""
    model = FakeModel()
    settings = {**SETTINGS, "reactive_keep_recent_entries": 4, "max_entries": None}
    if how != "by_size":
        settings["context_window_tokens"] = None
    talk = Conversation(policy_of(model, **settings), S())
    for start in (0, 12, 24):
        for number in range(start, start + 12):
            await talk.view(*turns(number, number + 1))
        if how == "by_hand":
            await talk.compacted()
        elif how == "by_refusal":
            await talk.refused()
    view = (await talk.view()).entries
    assert len(summaries(view)) == 1
    read = "\n".join(request.text for request in model.requests)
    shown = "\n".join(map(str, view))
    for number in range(36):
        marked = f'call_id "c{number}"]' in shown
        for letter in "uta":
            name = f"{letter}{number} "
            assert name in read or name in shown or (letter == "t" and marked), name


@pytest.mark.parametrize("missing", ["text", "covers", "both"])
async def test_coverage_without_its_summary_hides_nothing(
    missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A saved state that lost one half of summary and coverage is not used, and that is said."""
    talk = Conversation(policy_of(**SETTINGS), *turns(0, 14))
    assert summaries((await talk.view()).entries)
    saved = talk.state["compacting"]["summary"]
    for half in ("text", "covers"):
        if missing in {half, "both"}:
            saved[half] = type(saved[half])()
    resumed = talk.resumed(policy_of(context_window_tokens=None, max_entries=None))
    with caplog.at_level(logging.WARNING, "lovia.context"):
        result = await resumed.view()
    assert result.entries == talk.transcript
    assert "set aside" in caplog.text


async def test_a_process_may_die_at_any_moment_of_a_pass(tmp_path: Path) -> None:
    """Whatever was saved when it died, the next process sends a valid view that lost nothing."""
    entries = [S(), *turns(0, 30)]
    saved: list[str] = []
    talk = Conversation(
        policy_of(FakeModel(window=700), **SETTINGS, archive=FileCompactionArchive(tmp_path)),
        *entries,
    )
    await Watched(talk.view(), lambda _: saved.append(json.dumps(talk.state)))
    assert len(saved) > 10
    assert talk.state["compacting"]["summary"]
    for state in dict.fromkeys([*saved, json.dumps(talk.state)]):
        model = FakeModel()
        other = Conversation(policy_of(model, **SETTINGS), *entries)
        other.state = json.loads(state)
        view = (await other.view()).entries
        covered = other.state["compacting"]["summary"]["covers"]
        shown = len(entries) - sum(stop - start for start, stop in covered)
        assert len(summaries(view)) == 1
        assert len(view) <= shown + 2


async def test_a_pass_that_died_is_over_for_the_next_process(telemetry: Telemetry) -> None:
    """After a cancelled pass each start has its end, each span is closed, and the next is new."""
    seen: list[events.Event] = []
    entries = [S(), *turns(0, 14)]

    def told(policy: CompactingContextPolicy, state: dict[str, Any]) -> Any:
        return policy.apply(entries, ctx=PolicyContext(state=state, emit=seen.append))

    state: dict[str, Any] = {}
    stuck = FakeModel(Answer("half a summ", hangs=True))
    assert await cancelled_at(3, told(policy_of(stuck, **SETTINGS), state))
    entries += turns(14, 28)
    result = await told(policy_of(**SETTINGS), json.loads(json.dumps(state)))
    assert result.outcome == "compacted"
    started = [event.pass_id for event in seen if isinstance(event, events.CompactionStarted)]
    ended = [event for event in seen if isinstance(event, events.CompactionEnded)]
    assert [event.pass_id for event in ended] == started
    assert [event.outcome for event in ended] == ["cancelled", "compacted"]
    assert len(set(started)) == 2
    spans = [s for s in telemetry.exported.get_finished_spans() if s.name == names.SPAN_PASS]
    assert [dict(s.attributes or {})[names.COMPACTION_ID] for s in spans] == started


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process")
@pytest.mark.parametrize("deadly", [1, 3])
async def test_a_process_killed_in_the_middle_of_a_summary_leaves_nothing_running(
    deadly: int, tmp_path: Path, telemetry: Telemetry, anyio_backend_name: str
) -> None:
    """Who goes on with the run sees each pass start and end once, and pays for no fold twice."""
    program = [sys.executable, "-m", "tests.cases.killed_program", str(tmp_path), str(deadly)]
    died = await anyio.run_process([*program, anyio_backend_name], cwd=REPO, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()

    path = tmp_path / "runs.db"
    async with SQLiteCheckpointer(path) as store, SQLiteSession(path) as session:
        saved = await store.load("r")
        assert saved is not None
        assert saved.status == "running"
        assert await session.load("s") == []
        pages = sum(isinstance(entry, ToolResultEntry) for entry in saved.entries)
        agent = killed_program.reader(lambda _: GOOD, first=pages)
        seen = await events_of(killed_program.started(agent, store, session))
        kept = await session.load("s")

    ids = [event.pass_id for event in seen if isinstance(event, events.CompactionStarted)]
    ended = [event for event in seen if isinstance(event, events.CompactionEnded)]
    assert ids
    assert len(set(ids)) == len(ids)
    assert [event.pass_id for event in ended] == ids
    assert {event.outcome for event in ended} == {"compacted"}
    spans = [s for s in telemetry.exported.get_finished_spans() if s.name == names.SPAN_PASS]
    assert [dict(s.attributes or {})[names.COMPACTION_ID] for s in spans] == ids
    last = seen[-1]
    assert isinstance(last, events.RunCompleted)
    results = [e.output for e in last.result.entries if isinstance(e, ToolResultEntry)]
    assert [output.split(maxsplit=2)[1] for output in results] == [
        str(n) for n in range(killed_program.PAGES)
    ]
    assert kept == last.result.entries
    first, *_ = agent.model.requests
    assert first.is_summary  # the summary that died is asked for again, and only that one
    assert ("<earlier_summary>" in str(first.entries)) is (deadly > 1)
