"""Going on with a run: handoffs, open calls, kept answers, the conversation before it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import (
    AgentHooks,
    BudgetExceeded,
    CancelToken,
    CheckpointOptions,
    CompactingContextPolicy,
    Handoff,
    InMemoryCheckpointer,
    InMemorySession,
    InputEntry,
    Mailbox,
    ProviderError,
    RunBudget,
    RunCancelled,
    RunSnapshot,
    SQLiteCheckpointer,
    ToolResultEntry,
    Usage,
    UserError,
    events,
    tool,
)
from lovia.errors import CheckpointDamaged, CheckpointError
from lovia.stores import LogMark
from lovia.testing import ScriptedProvider, batch, call, text
from lovia.transcript import validate_view
from tests.notation import C, T, U
from tests.runtime.saving import Plain, Watched, add, saved_run
from tests.runtime.support import Untouched, kinds, provider_of, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import Agent

pytestmark = pytest.mark.anyio


class Desk:
    """Two agents, of which `a` hands over to `b` beside another call, and what they did."""

    def __init__(self, *of_b: Any, of_a: Any = None, target: str = "b") -> None:
        self.did: list[str] = []
        self.b = scripted(*of_b, name=target)
        handoff = Handoff(self.b, on_handoff=lambda _args, _ctx: self.did.append("handoff"))
        turn = batch(("transfer_to_b", {"reason": "r"}), ("other", {}))
        script = [turn] if of_a is None else of_a
        made = tool(self.other, parallel=False)
        self.a = scripted(*script, name="a", tools=[made], handoffs=[handoff])

    def other(self) -> str:
        """Do something else."""
        self.did.append("other")
        return "other is done"


def stop_after(name: str, token: CancelToken) -> Any:
    """Return a reader that asks for a stop when a tool has finished."""

    def react(event: events.Event) -> None:
        if isinstance(event, events.ToolCallCompleted) and event.call.name == name:
            token.cancel()

    return react


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain, Watched])
@pytest.mark.parametrize("how", ["cancel", "budget"])
async def test_a_handoff_that_had_fired_is_applied(how: str, make: Any) -> None:
    """A transfer, then a stop before the next call: resumed, the target goes on and is asked."""
    store, desk, token = make(), Desk(), CancelToken()
    options: dict[str, Any] = {"cancel_token": token}
    if how == "budget":
        options["budget"] = RunBudget(max_tool_calls=1)
    react = stop_after("transfer_to_b", token) if how == "cancel" else None
    _, error = await saved_run(desk.a, store, react, **options)
    assert isinstance(error, RunCancelled if how == "cancel" else BudgetExceeded)
    saved = await store.load("r")
    assert saved is not None
    assert (saved.agent_name, saved.pending_handoff) == ("a", "b")
    assert desk.did == ["handoff"]
    later = Desk(text("done by b"), of_a=[])
    later.did = desk.did
    seen, result = await saved_run(later.a, store)
    assert (result.output, result.final_agent) == ("done by b", later.b)
    assert desk.did == ["handoff", "other"]
    assert len(provider_of(later.b).requests) == 1
    assert provider_of(later.a).requests == []
    assert kinds(seen).count("HandoffOccurred") == 1
    validate_view(result.entries)


async def test_fired_and_applied_are_two_saves() -> None:
    """One save says that the handoff is pending, a later one that the target is active."""
    store, desk = Watched(), Desk(text("ok"))
    await saved_run(desk.a, store)
    states = [(head.agent_name, head.pending_handoff) for head in store.heads]
    assert states.index(("a", "b")) < states.index(("b", None))
    assert ("b", "b") not in states


async def test_an_interrupted_callback_is_not_called_again() -> None:
    """A stop in the middle of `on_handoff`: the target takes over, and it was called once."""
    called: list[str] = []
    token = CancelToken()

    async def slow(_args: Any, _ctx: Any) -> None:
        called.append("handoff")
        token.cancel()
        await anyio.sleep(30)

    def desk(*of_b: Any) -> Agent[Any]:
        b = scripted(*of_b, name="b")
        return scripted(call("transfer_to_b"), name="a", handoffs=[Handoff(b, on_handoff=slow)])

    store = InMemoryCheckpointer()
    _, error = await saved_run(desk(), store, cancel_token=token)
    assert isinstance(error, RunCancelled)
    _, result = await saved_run(desk(text("b here")), store)
    assert (result.output, called) == ("b here", ["handoff"])


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
@pytest.mark.parametrize("where", ["event", "note"])
async def test_a_callback_that_was_not_reached_is_called_later(where: str, make: Any) -> None:
    """A stop before `on_handoff`, while the call is told or noted, leaves the call open."""
    store, token = make(), CancelToken()

    def react(event: events.Event) -> None:
        if where == "event" and isinstance(event, events.ToolCallStarted):
            token.cancel()

    if where == "note":
        name = "begin" if hasattr(store, "begin") else "append"
        inner = getattr(store, name)

        async def stopping(run_id: str, *args: Any) -> Any:
            noted = name == "begin" or args[1].progress.begun
            done = await inner(run_id, *args)
            if noted:
                token.cancel()
                await anyio.sleep(0.02)
            return done

        setattr(store, name, stopping)
    called: list[str] = []

    def desk(*of_a: Any) -> Agent[Any]:
        b = scripted(text("b here"), name="b")
        handoff = Handoff(b, on_handoff=lambda _args, _ctx: called.append("handoff"))
        return scripted(*of_a, name="a", handoffs=[handoff])

    _, error = await saved_run(desk(call("transfer_to_b")), store, react, cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert called == []
    saved = await store.load("r")
    assert saved is not None
    assert (saved.pending_handoff, len(saved.entries), saved.calls) == (None, 2, {})
    _, result = await saved_run(desk(), store)
    assert (result.output, called) == ("b here", ["handoff"])


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
async def test_calls_of_a_killed_process_count_once_in_the_budget(make: Any) -> None:
    """Those that had begun count, with their result or without, and those that had not do not."""
    store = make()
    left: list[Any] = []

    @tool
    async def note(a: int) -> int:
        """Note; the store holds now what a process leaves that is killed here."""
        await anyio.wait_all_tasks_blocked()
        left.append(copy.deepcopy(vars(store)))
        return a

    asked = batch(*(("note", {"a": a}) for a in range(3)))
    budget = RunBudget(max_tool_calls=9)
    await saved_run(scripted(asked, text("ok"), tools=[note]), store, budget=budget)
    assert budget.tool_calls == 3
    for life in range(3):
        vars(store).update(copy.deepcopy(left[life]))
        again = RunBudget(max_tool_calls=4)
        agent = scripted(call("note", {"a": 9}), text("ok"), tools=[note])
        _, result = await saved_run(agent, store, budget=again)
        assert (result.output, again.tool_calls) == ("ok", 4)


async def test_a_note_outlives_a_life_in_which_an_earlier_call_begins() -> None:
    """Of two calls the later one had begun when the process died, twice: it never runs again.

    The store has no log of calls, so the notes are in its heads. What it holds when a tool runs is
    what a process leaves that is killed there.
    """
    store, hooks, first_may_begin = Plain(), AgentHooks(), anyio.Event()
    ran: list[int] = []
    left: list[Any] = []

    @hooks.on(events.ToolCallStarted)
    async def hold_back(event: events.ToolCallStarted, _ctx: Any) -> None:
        if event.call.arguments == '{"a": 1}':
            await first_may_begin.wait()

    @tool
    async def note(a: int) -> int:
        """Note."""
        ran.append(a)
        left.append(store.runs["r"])
        first_may_begin.set()
        return a

    def agent(*script: Any) -> Agent[Any]:
        return scripted(*script, tools=[note], hooks=hooks)

    await saved_run(agent(batch(("note", {"a": 1}), ("note", {"a": 2})), text("ok")), store)
    assert ran == [2, 1]
    store.runs["r"] = left[0]  # killed in the second call, before the first had begun
    await saved_run(agent(text("ok")), store)
    assert ran == [2, 1, 1]
    store.runs["r"] = left[-1]  # killed in the first call
    _, result = await saved_run(agent(text("ok")), store)
    assert ran == [2, 1, 1]
    told = [entry.output for entry in result.entries if isinstance(entry, ToolResultEntry)]
    assert [("interrupted" in output) for output in told] == [True, True]


@pytest.mark.parametrize("what", ["agent", "target", "ambiguous"])
async def test_agents_are_found_by_name_or_refused(what: str) -> None:
    """When the graph does not lead to the agent any more, or to several, an error says so."""
    store, token = InMemoryCheckpointer(), CancelToken()
    await saved_run(Desk().a, store, stop_after("transfer_to_b", token), cancel_token=token)
    root = {
        "agent": scripted(text("x"), name="other"),
        "target": Desk(target="renamed", of_a=[text("x")]).a,
        "ambiguous": scripted(name="root", handoffs=[Desk().a, Desk().a]),
    }[what]
    before = await store.load("r")
    seen, error = await saved_run(root, store)
    assert isinstance(error, UserError)
    assert error.hint is not None
    named = {"agent": "'a'", "target": "'b'", "ambiguous": "2 agents"}[what]
    assert named in error.message
    assert kinds(seen) == ["RunFailed"]
    assert await store.load("r") == before


async def test_an_agent_deep_in_a_circle_is_found() -> None:
    """The handoff graph is walked, circles and shared agents included."""
    store = InMemoryCheckpointer()

    def graph(of_c: Any) -> Agent[Any]:
        a, b = scripted(call("transfer_to_b"), name="a"), scripted(call("transfer_to_c"), name="b")
        c = scripted(*of_c, name="c", handoffs=[a])
        a.handoffs.extend([b, Handoff(c, "also")])
        b.handoffs.append(c)
        return a

    _, error = await saved_run(graph([ProviderError("down")]), store)
    assert isinstance(error, ProviderError)
    _, result = await saved_run(graph([text("c here")]), store)
    assert result.output == "c here"
    assert result.final_agent.name == "c"


# --- calls and answers ---


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
async def test_calls_that_had_not_begun_are_run(make: Any) -> None:
    """After a stop between two calls the second one runs in the next life, the first does not."""
    store, token, done = make(), CancelToken(), list[int]()

    @tool(parallel=False)
    async def note(n: int) -> str:
        """Note."""
        done.append(n)
        return f"noted {n}"

    calls = batch(*[("note", {"n": n}) for n in range(3)])
    agent = scripted(calls, tools=[note])
    _, error = await saved_run(agent, store, stop_after("note", token), cancel_token=token)
    assert isinstance(error, RunCancelled)
    assert done == [0]
    agent = scripted(text("ok"), tools=[note])
    seen, result = await saved_run(agent, store)
    assert done == [0, 1, 2]
    outputs = [e.output for e in result.entries if isinstance(e, ToolResultEntry)]
    assert outputs == ["noted 0", "noted 1", "noted 2"]
    assert kinds(seen).count("ToolCallStarted") == 2
    assert kinds(seen)[:2] == ["RunStarted", "ToolCallStarted"]
    assert len(provider_of(agent).requests) == 1


async def test_an_answer_that_was_kept_is_not_asked_for_again() -> None:
    """A run that was stopped when its answer was complete gives that answer."""
    store, token = InMemoryCheckpointer(), CancelToken()

    def react(event: events.Event) -> None:
        if isinstance(event, events.MessageCompleted):
            token.cancel()

    _, error = await saved_run(scripted(text("the answer")), store, react, cancel_token=token)
    assert isinstance(error, RunCancelled)
    agent = scripted()
    _, result = await saved_run(agent, store)
    assert (result.output, result.turns, result.usage.total_tokens) == ("the answer", 1, 2)
    assert provider_of(agent).requests == []


async def test_a_repair_goes_on() -> None:
    """A failure after an answer of the wrong form: the repair is not asked for twice."""
    store = InMemoryCheckpointer()
    agent = scripted(text("no number"), ProviderError("down"), output_type=int)
    _, error = await saved_run(agent, store)
    assert isinstance(error, ProviderError)
    _, error = await saved_run(scripted(text("no number"), output_type=int), store)
    assert type(error).__name__ == "OutputValidationError"
    saved = await store.load("r")
    assert saved is not None
    assert sum(isinstance(entry, InputEntry) for entry in saved.entries) == 2


async def test_steering_is_saved_before_the_model_sees_it() -> None:
    """A message from the mailbox is part of the saved run although the model call failed."""
    store, mailbox = InMemoryCheckpointer(), Mailbox()
    mailbox.push("hurry")
    _, error = await saved_run(scripted(ProviderError("down")), store, mailbox=mailbox)
    assert isinstance(error, ProviderError)
    agent = scripted(text("ok"))
    _, result = await saved_run(agent, store)
    assert result.entries[:2] == [InputEntry("user", "go"), InputEntry("user", "hurry")]


async def test_guardrails_look_once_at_the_input() -> None:
    """The input of a run that has made a turn is not looked at again."""
    looked: list[int] = []
    store = InMemoryCheckpointer()
    fields: dict[str, Any] = {"input_guardrails": [lambda _e, _c: looked.append(1)], "tools": [add]}
    await saved_run(scripted(call("add", {"a": 1}), ProviderError("x"), **fields), store)
    _, result = await saved_run(scripted(text("ok"), **fields), store)
    assert (result.output, looked) == ("ok", [1])


async def test_a_resumed_run_says_so() -> None:
    """`RunStarted` tells whether the run goes on, and with which agent; hooks hear of it."""
    store, heard = InMemoryCheckpointer(), list[Any]()
    hooks = AgentHooks()
    hooks.on(events.RunStarted)(lambda event, _ctx: heard.append(event))
    await saved_run(scripted(ProviderError("down"), hooks=hooks), store)
    await saved_run(scripted(text("ok"), hooks=hooks), store)
    assert [event.resumed for event in heard] == [False, True]


# --- snapshots from elsewhere ---


async def test_a_snapshot_is_enough() -> None:
    """`resume_from` goes on with a snapshot alone, and saves it where there is a checkpointer."""
    store = InMemoryCheckpointer()
    await saved_run(scripted(call("add", {"a": 1}), ProviderError("x"), tools=[add]), store)
    taken = await store.load("r")
    assert taken is not None
    alone = CheckpointOptions(resume_from=RunSnapshot.from_json(taken.to_json()))
    _, result = await saved_run(scripted(text("ok"), tools=[add]), None, checkpoint=alone)
    assert (result.output, result.run_id, result.turns) == ("ok", "r", 2)
    other = InMemoryCheckpointer()
    for there in (other, store):
        options = CheckpointOptions(there, resume_from=taken)
        _, result = await saved_run(scripted(text("ok"), tools=[add]), None, checkpoint=options)
        saved = await there.load("r")
        assert saved is not None
        assert (saved.status, saved.entries) == ("completed", result.entries)
    _, error = await saved_run(
        scripted(text("x")), None, checkpoint=CheckpointOptions(store, resume_from=taken)
    )
    assert isinstance(error, CheckpointError)


async def test_a_snapshot_that_says_little_is_gone_on_with() -> None:
    """Without marks the open calls at the end are found, and run."""
    entries: Any = [U("go"), C("c1", "add", '{"a": 1}'), C("c2", "add", '{"a": 2}'), T("c1", "3")]
    taken = RunSnapshot(run_id="r", agent_name="bot", entries=entries, usage=Usage(), turns=1)
    agent = scripted(text("ok"), tools=[add])
    options = CheckpointOptions(resume_from=taken)
    _, result = await saved_run(agent, None, checkpoint=options)
    assert [e.output for e in result.entries if isinstance(e, ToolResultEntry)] == ["3", "4"]


async def test_a_damaged_snapshot_is_refused() -> None:
    """A snapshot whose entries are not those of its log fails the run before it does anything."""
    store = InMemoryCheckpointer()
    await saved_run(scripted(ProviderError("x")), store)
    taken = await store.load("r")
    assert taken is not None
    bad = replace(taken, entries=[U("other")], log=LogMark(9, 1, "00"))
    agent = scripted(text("x"))
    _, error = await saved_run(agent, None, checkpoint=CheckpointOptions(resume_from=bad))
    assert isinstance(error, CheckpointDamaged)
    assert provider_of(agent).requests == []


# --- the conversation before the run ---


async def conversation() -> InMemorySession:
    """Return a session in which something was said."""
    session = InMemorySession()
    await session.append("s", [U("before"), InputEntry("user", "and this")], run_id="old")
    return session


async def test_a_run_goes_on_in_the_conversation_it_saw() -> None:
    """What others said meanwhile comes before the run's part, and is not in its view."""
    session, store = await conversation(), InMemoryCheckpointer()
    options: dict[str, Any] = {"session": session, "session_id": "s"}
    await saved_run(scripted(ProviderError("x")), store, **options)
    await session.append("s", [U("meanwhile")], run_id="other")
    agent = scripted(text("ok"))
    _, result = await saved_run(agent, store, **options)
    (request,) = provider_of(agent).requests
    assert request.entries == [*(await session.load("s"))[:2], InputEntry("user", "go")]
    assert [s.run_id for s in await session.segments("s")] == ["old", "other", "r"]
    assert (await session.segments("s"))[-1].entries == result.entries


@pytest.mark.parametrize("how", ["rewound", "replaced", "another", "none"])
async def test_another_past_is_noticed(how: str) -> None:
    """A run is not gone on with when what it had seen is gone, was changed, or is not given."""
    session, store = await conversation(), InMemoryCheckpointer()
    await saved_run(scripted(ProviderError("x")), store, session=session, session_id="s")
    options: dict[str, Any] = {"session": session, "session_id": "s"}
    if how == "rewound":
        await session.rewind("s", keep_entries=1)
    elif how == "replaced":
        await session.clear("s")
        await session.append("s", [U("befOre"), InputEntry("user", "and this")])
    else:
        options = {"another": {**options, "session_id": "t"}, "none": {}}[how]
    agent = scripted(text("x"))
    _, error = await saved_run(agent, store, **options)
    assert isinstance(error, (CheckpointError, UserError))
    assert error.hint is not None
    assert provider_of(agent).requests == []


async def test_a_rewritten_conversation_is_noticed_by_new_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What policies remember of entries that were changed is set aside, with a warning."""

    class Counting(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.state["calls"] = ctx.state.get("calls", 0) + 1
            return await super().apply(entries, ctx=ctx)

    policy, session = Counting(), InMemorySession()

    async def say() -> Any:
        agent = scripted(text("ok"), context_policy=policy)
        await saved_run(
            agent, None, checkpoint=CheckpointOptions(), session=session, session_id="s"
        )
        return policy.contexts[-1].state["calls"]

    assert [await say(), await say()] == [1, 2]
    kept = session._sessions["s"]
    first = next(iter(kept.segments.values()))
    first.entries[0] = U("gO")
    assert await say() == 1
    assert "rewritten" in caplog.text


async def test_policies_remember_over_lives_of_a_run(tmp_path: Path) -> None:
    """What was compacted in one life is sent compacted, and not compacted again, in the next."""
    long: list[Any] = [InputEntry("user", f"message {i} " + "word " * 100) for i in range(60)]

    def agent(*script: Any) -> Agent[Any]:
        provider = ScriptedProvider(
            script,
            window=4_000,
            usage="counted",
            summarize="## Goal\nx\n\n## State\ny\n\n## Planned\nz",
        )
        return scripted(provider=provider, context_policy=CompactingContextPolicy(), tools=[add])

    first, second = agent(call("add", {"a": 1}), ProviderError("cut")), agent(text("ok"))
    async with SQLiteCheckpointer(tmp_path / "c.db") as store:
        seen, _ = await saved_run(first, store, input=long)
        assert "ContextCompacted" in kinds(seen)
        seen, result = await saved_run(second, store, input=long)
    assert "ContextCompacted" not in kinds(seen)
    before, after = provider_of(first).requests[-1], provider_of(second).requests[-1]
    assert after.entries == before.entries
    assert result.usage.summary.total_tokens > 0
    asked = [*provider_of(first).requests, *provider_of(second).requests]
    assert sum(request.is_summary for request in asked) >= 1
    assert result.usage.input_tokens < sum(request.tokens for request in asked)
