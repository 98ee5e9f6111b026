"""Passes that overlap, in one conversation and in several, do not disturb each other."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import InMemorySession, Runner
from lovia.context import ContextPolicyResult, FileCompactionArchive, PolicyContext
from lovia.context.recall import RecallSource, recall
from lovia.testing import ScriptedProvider, text
from lovia.transcript import ToolResultEntry
from tests.cases.support import Conversation, check_view, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, Answer, FakeModel, Request
from tests.notation import A, C, S, T, U
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from lovia.context import CompactingContextPolicy
    from lovia.transcript import TranscriptEntry
    from lovia.transcript.deltas import ModelDelta

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {"context_window_tokens": 2_000, "max_entries": None}


class SlowModel(FakeModel):
    """A model whose answers wait until they are let go, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self.let_go = anyio.Event()

    async def stream(self, *args: Any, **options: Any) -> AsyncIterator[ModelDelta]:
        """Say that there was a request, and answer it when that is allowed."""
        self.asked.set()
        await self.let_go.wait()
        async for delta in super().stream(*args, **options):
            yield delta


def talk_of(*names: str, tokens: int = 100) -> list[TranscriptEntry]:
    """Return a few turns on each subject."""
    said: list[TranscriptEntry] = [S()]
    for name in names:
        said += [U(f"{name}-asked", tokens=tokens), A(f"{name}-told", tokens=tokens)]
    return said


SUBJECTS = [f"s{n}" for n in range(12)]


async def test_what_is_said_while_a_summary_is_written_stays() -> None:
    """A message that arrives meanwhile is in the next view, and the summary does not cover it."""
    model = SlowModel()
    policy = policy_of(model, **SETTINGS)
    transcript = [*talk_of(*SUBJECTS), U("first")]
    snapshot = list(transcript)
    ctx = PolicyContext(session_id="s")
    async with anyio.create_task_group() as tasks:
        results: list[ContextPolicyResult] = []

        async def compact() -> None:
            results.append(await policy.apply(transcript, ctx=ctx))

        tasks.start_soon(compact)
        await model.asked.wait()
        transcript += [A("meanwhile"), U("second")]
        model.let_go.set()
    check_view(results[0].entries, snapshot)
    assert summaries(results[0].entries)
    covered = ctx.state["compacting"]["summary"]["covers"]
    assert max(stop for _, stop in covered) < len(snapshot)
    after = await policy.apply(transcript, ctx=ctx)
    check_view(after.entries, transcript)
    assert after.entries[-2:] == transcript[-2:]
    assert all("second" not in request.text for request in model.requests)


@pytest.mark.parametrize("cut", [0, 1, 5])
async def test_clearing_a_conversation_while_it_is_compacted_clears_it(cut: int) -> None:
    """What was taken out of the history meanwhile does not come back through the summary."""
    model = SlowModel()
    policy = policy_of(model, **SETTINGS)
    transcript = [*talk_of(*SUBJECTS), U("first")]
    ctx = PolicyContext(session_id="s")
    async with anyio.create_task_group() as tasks:

        async def compact() -> None:
            await policy.apply(transcript, ctx=ctx)

        tasks.start_soon(compact)
        await model.asked.wait()
        del transcript[cut:]
        transcript.append(U("a new start"))
        model.let_go.set()
    for state in (ctx.state, json.loads(json.dumps(ctx.state))):
        after = await policy.apply(transcript, ctx=PolicyContext(session_id="s", state=state))
        assert after.entries == transcript


@pytest.mark.parametrize("what", ["cleared", "went_on"])
async def test_a_conversation_that_changes_while_a_run_compacts_it(what: str) -> None:
    """Neither what was cleared comes back with the run, nor is lost what another run added."""
    session, model = InMemorySession(), SlowModel()
    told: dict[str, Any] = {"session": session, "session_id": "s"}
    past: Any = [*talk_of(*SUBJECTS), U("first")]
    await Runner.run(scripted(text("stored")), past, **told)
    before = await session.load("s")

    async def run() -> None:
        agent = scripted(text("one"), context_policy=policy_of(model, **SETTINGS))
        await Runner.run(agent, "second", **told)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await model.asked.wait()
        if what == "cleared":
            await session.clear("s")
        else:
            await Runner.run(scripted(text("meanwhile")), "between", **told)
        model.let_go.set()
    added: list[TranscriptEntry] = [U("second"), A("one")]
    kept = [*before, U("between"), A("meanwhile"), *added] if what == "went_on" else added
    assert await session.load("s") == kept
    provider = ScriptedProvider([text("three")])
    agent = scripted(provider=provider, context_policy=policy_of(**SETTINGS))
    await Runner.run(agent, "third", **told)
    (request,) = provider.requests
    check_view(request.entries, [*kept, U("third")])
    shown = request.entries if what == "cleared" else request.entries[-5:]
    assert shown == [*kept[-4:], U("third")]
    assert bool(summaries(request.entries)) is (what == "went_on")


async def apply_twice(
    policy: CompactingContextPolicy,
    model: SlowModel,
    first: tuple[list[TranscriptEntry], PolicyContext],
    second: tuple[list[TranscriptEntry], PolicyContext],
) -> list[ContextPolicyResult]:
    """Begin a pass, begin another while the first waits for its summary, and let both end."""
    results: list[ContextPolicyResult] = []

    async def apply(transcript: list[TranscriptEntry], ctx: PolicyContext) -> None:
        results.append(await policy.apply(transcript, ctx=ctx))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(apply, *first)
        await model.asked.wait()
        tasks.start_soon(apply, *second)
        await anyio.wait_all_tasks_blocked()
        model.let_go.set()
    return results


@pytest.mark.parametrize("state", ["shared", "one_each"])
async def test_two_passes_on_one_conversation_pay_for_one_summary(state: str) -> None:
    """The second waits for the first, looks again, and sends the same view without a pass."""
    model = SlowModel()
    policy = policy_of(model, **SETTINGS)
    transcript = [*talk_of(*SUBJECTS), U("go on")]
    one = PolicyContext(session_id="s")
    two = PolicyContext(session_id="s", state=one.state if state == "shared" else {})
    results = await apply_twice(policy, model, (transcript, one), (list(transcript), two))
    assert [result.outcome for result in results] == ["compacted", None]
    assert results[0].entries == results[1].entries
    assert len(model.requests) == 1
    assert two.state["compacting"]["summary"] == one.state["compacting"]["summary"]


async def test_two_runs_that_part_ways_keep_to_their_own_history() -> None:
    """Two copies of a conversation that go on differently share no memory, even at one time."""
    model = SlowModel()
    policy = policy_of(model, **SETTINGS)
    before = PolicyContext(session_id="s")
    common = talk_of("shared")
    await policy.apply(common, ctx=before)
    left = [*common, *talk_of(*(f"left-{s}" for s in SUBJECTS))[1:], U("and left")]
    right = [*common, *talk_of(*(f"right-{s}" for s in SUBJECTS))[1:], U("and right")]
    one, two = (PolicyContext(state=copy.deepcopy(before.state)) for _ in range(2))
    await apply_twice(policy, model, (left, one), (right, two))
    for transcript, ctx, other in ((left, one, "right"), (right, two, "left")):
        again = await policy.apply(transcript, ctx=ctx)
        check_view(again.entries, transcript)
        assert again.view == "replayed"
        assert again.entries[-1] is transcript[-1]
        assert not any(other in str(entry) for entry in again.entries)


async def test_a_pass_in_one_conversation_does_not_hold_up_another() -> None:
    """While one conversation waits for its summary, another gets its view from the same policy."""
    slow = SlowModel()
    policy = policy_of(slow, **SETTINGS)
    async with anyio.create_task_group() as tasks:
        busy = [*talk_of(*SUBJECTS), U("go on")]
        apply = policy.apply

        async def compact() -> None:
            await apply(busy, ctx=PolicyContext(session_id="busy"))

        tasks.start_soon(compact)
        await slow.asked.wait()
        with anyio.fail_after(5):
            other = await apply([U("hello")], ctx=PolicyContext(session_id="other"))
        assert other.entries == [U("hello")]
        slow.let_go.set()


async def test_conversations_with_the_same_call_ids_share_nothing(tmp_path: Path) -> None:
    """One policy serves many conversations whose calls have the same ids, turn by turn."""

    def echo(request: Request) -> Answer:
        whose = next(name for name in ("anna", "bert", "cleo") if f"{name} asks" in request.text)
        return Answer(f"{GOOD}\n{whose}'s summary")

    archive = FileCompactionArchive(tmp_path)
    policy = policy_of(FakeModel(then=echo), **SETTINGS, archive=archive)
    talks = {name: Conversation(policy, session_id=name) for name in ("anna", "bert", "cleo")}
    for turn in range(12):
        for name, talk in talks.items():
            secret = f"{name} found {turn}. "
            await talk.view(
                *(U(f"{name} asks {turn}", tokens=60), C("call_0")),
                T("call_0", secret * 2_000 if turn == 3 else secret * 20),
                A(f"{name} reads {turn}", tokens=60),
            )
    for name, talk in talks.items():
        view = (await talk.view()).entries
        (summary,) = summaries(view)
        assert f"{name}'s summary" in str(summary.content)
        others = [other for other in talks if other != name]
        assert not any(other in str(entry) for other in others for entry in view)
        kept = json.dumps(talk.state)
        assert not any(other in kept for other in others)
        files = [path.read_text() for path in (tmp_path / "tool-results" / name).iterdir()]
        assert files == [f"{name} found 3. " * 2_000]


@pytest.mark.parametrize("named", ["session_id", "run_id"])
async def test_one_conversation_cannot_recall_what_another_archived(
    named: str, tmp_path: Path
) -> None:
    """A reference that one conversation's marker names gives the other nothing."""
    archive = FileCompactionArchive(tmp_path)
    policy = policy_of(archive=archive)
    names: list[dict[str, Any]] = [{"session_id": None, named: who} for who in ("mine", "other")]
    mine = Conversation(policy, U("go"), C("call_0"), **names[0])
    marker = (await mine.view(T("call_0", "my secret " * 5_000))).entries[-1]
    assert isinstance(marker, ToolResultEntry)
    uri = marker.output.partition("archived at: ")[2].partition("\n")[0]
    own, other = (RecallSource((), archive, **name) for name in names)
    assert "my secret" in await recall({"reference": uri}, own)
    assert "my secret" not in await recall({"reference": uri}, other)
