"""Saved runs: what is there already, what is written, and what a completed run gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from lovia import (
    AgentHooks,
    BudgetExceeded,
    CheckpointOptions,
    InMemoryCheckpointer,
    InMemorySession,
    MaxTurnsExceeded,
    OutputValidationError,
    ProviderError,
    RunBudget,
    Runner,
    RunResult,
    SQLiteCheckpointer,
    Usage,
    UserError,
    events,
)
from lovia.errors import CheckpointConflict
from lovia.testing import AssistantTurn, batch, broken, call, text
from tests.runtime.saving import Plain, Watched, add, saved_run
from tests.runtime.support import Untouched, kinds, provider_of, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import Agent

pytestmark = pytest.mark.anyio


def worker(*script: Any, **fields: Any) -> Agent[Any]:
    """Return an agent with a tool."""
    return scripted(*script, tools=[add], **fields)


async def test_a_run_is_saved_as_it_goes() -> None:
    """Saves come after the start, each answer and each result, each with what is new alone."""
    store = Watched()
    alone = replace(add, parallel=False)
    script = batch(("add", {"a": 1}), ("add", {"a": 2})), text("done")
    _, result = await saved_run(scripted(*script, tools=[alone]), store)
    assert store.tails == [1, 2, 1, 1, 1, 0]
    assert [head.status for head in store.heads] == ["running"] * 5 + ["completed"]
    assert [head.turns for head in store.heads] == [0, 1, 1, 1, 2, 2]
    assert [head.log.sequence for head in store.heads if head.log] == [1, 2, 3, 4, 5, 6]
    saved = await store.load("r")
    assert saved is not None
    assert saved.entries == result.entries
    assert (saved.outcome, saved.output, saved.usage) == ("completed", "done", result.usage)
    assert result.run_id == "r"


async def test_a_completed_run_gives_its_result_again() -> None:
    """No model is asked, no hook hears of it, and the input of the new call is not looked at."""
    store, heard = InMemoryCheckpointer(), list[str]()
    _, first = await saved_run(worker(call("add", {"a": 1}), text("3")), store)
    hooks = AgentHooks()
    hooks.on_any(lambda event, _ctx: heard.append(type(event).__name__))
    agent = worker(hooks=hooks, output_guardrails=[lambda _output, _ctx: "no"])
    seen, again = await saved_run(agent, store, input="something else")
    assert kinds(seen) == ["RunStarted", "RunCompleted"]
    assert isinstance(seen[0], events.RunStarted)
    assert seen[0].resumed
    assert heard == []
    assert isinstance(again, RunResult)
    for name in ("output", "entries", "usage", "turns", "finish_reason", "last_input_tokens"):
        assert getattr(again, name) == getattr(first, name)
    assert again.final_agent is agent


class Order(BaseModel):
    """An answer with a shape."""

    number: int


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
async def test_an_output_has_its_type_again(make: Any) -> None:
    """A structured answer is the same value when the run is asked for again."""
    store = make()
    agent = worker(text("no json"), text('{"number": 7}'), output_type=Order)
    _, first = await saved_run(agent, store)
    _, again = await saved_run(worker(output_type=Order), store)
    assert first.output == again.output == Order(number=7)
    assert (await store.load("r")).output == {"number": 7}
    _, other = await saved_run(worker(output_type=list[int]), store)
    assert isinstance(other, OutputValidationError)


@pytest.mark.parametrize("choice", ["resume", "restart", "fail", "resume_only"])
@pytest.mark.parametrize("exists", [True, False])
async def test_what_to_do_about_a_saved_run(choice: Any, exists: bool) -> None:
    """Each choice does what it says, whether there is a run or not."""
    store = InMemoryCheckpointer()
    if exists:
        await saved_run(worker(text("old")), store)
    checkpoint = CheckpointOptions(store, "r", if_run_exists=choice)
    seen, outcome = await saved_run(worker(text("new")), store, checkpoint=checkpoint)
    expected = {
        ("resume", True): "old",
        ("resume", False): "new",
        ("restart", True): "new",
        ("restart", False): "new",
        ("fail", False): "new",
        ("resume_only", True): "old",
    }.get((choice, exists))
    if expected is None:
        assert isinstance(outcome, UserError)
        assert outcome.hint is not None
        assert kinds(seen) == ["RunFailed"]
    else:
        assert outcome.output == expected


async def test_a_completed_run_can_be_forgotten() -> None:
    """`delete_on_success` leaves nothing behind a success, and everything behind a failure."""
    store = InMemoryCheckpointer()
    checkpoint = CheckpointOptions(store, "r", delete_on_success=True)
    await saved_run(worker(ProviderError("down")), store, checkpoint=checkpoint)
    assert await store.load("r") is not None
    _, result = await saved_run(worker(text("ok")), store, checkpoint=checkpoint)
    assert result.output == "ok"
    assert await store.load("r") is None


@pytest.mark.parametrize(
    "options",
    [
        {"checkpointer": InMemoryCheckpointer()},
        {"checkpointer": InMemoryCheckpointer(), "run_id": ""},
        {"run_id": "\ud800"},
        {"run_id": 7},
        {"if_run_exists": "maybe"},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    """A checkpointer needs the id of a run, ids have to encode, choices are known."""
    with pytest.raises(UserError) as caught:
        CheckpointOptions(**options)
    assert caught.value.hint is not None


async def test_an_id_without_a_store_names_the_run() -> None:
    """`run_id` alone is the run's id and saves nothing."""
    options = CheckpointOptions(run_id="mine")
    assert (await Runner.run(worker(text("ok")), "go", checkpoint=options)).run_id == "mine"
    assert (await Runner.run(worker(text("ok")), "go", checkpoint=CheckpointOptions())).run_id
    with pytest.raises(UserError):
        assert CheckpointOptions().resolved_run_id


# --- limits ---


async def test_a_run_at_its_last_turn_goes_on_with_more() -> None:
    """Turns made before count; with a raised limit the run goes on where it was."""
    store = InMemoryCheckpointer()
    first = worker(call("add", {"a": 1}), call("add", {"a": 2}))
    _, error = await saved_run(first, store, max_turns=2)
    assert isinstance(error, MaxTurnsExceeded)
    saved = await store.load("r")
    assert saved is not None
    assert (saved.status, saved.outcome, saved.turns) == ("interrupted", "limit_reached", 2)
    assert saved.error == {"type": "MaxTurnsExceeded", "message": error.message}
    _, error = await saved_run(worker(text("never")), store, max_turns=2)
    assert isinstance(error, MaxTurnsExceeded)
    second = worker(text("done"))
    _, result = await saved_run(second, store, max_turns=3)
    assert (result.output, result.turns, result.usage.total_tokens) == ("done", 3, 6)
    assert len(provider_of(second).requests) == 1


async def test_a_spent_budget_can_be_raised() -> None:
    """Tokens spent before count once, in the result and in the budget."""
    store = InMemoryCheckpointer()
    budget = RunBudget(max_total_tokens=1)
    _, error = await saved_run(worker(call("add", {"a": 1}), text("x")), store, budget=budget)
    assert isinstance(error, BudgetExceeded)
    _, error = await saved_run(worker(text("x")), store, budget=RunBudget(max_total_tokens=1))
    assert isinstance(error, BudgetExceeded)
    budget = RunBudget(max_total_tokens=100)
    _, result = await saved_run(worker(text("done")), store, budget=budget)
    assert (result.output, result.usage.total_tokens) == ("done", 4)


async def test_calls_count_once_over_all_lives_of_a_run() -> None:
    """A call over the limit is admitted by a raised one, and was not counted before."""
    store = InMemoryCheckpointer()
    calls = batch(*[("add", {"a": n}) for n in range(4)])
    for limit, done in ((1, 1), (3, 3)):
        agent = worker(calls)
        _, error = await saved_run(agent, store, budget=RunBudget(max_tool_calls=limit))
        assert isinstance(error, BudgetExceeded)
        saved = await store.load("r")
        assert saved is not None
        assert len(saved.entries) == 1 + 4 + done
        assert saved.progress.tool_calls == done
    budget = RunBudget(max_tool_calls=4)
    _, result = await saved_run(worker(text("done")), store, budget=budget)
    assert result.output == "done"
    assert budget.tool_calls == 4


async def test_idle_time_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_seconds` is about the time in which the run was going."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    store = InMemoryCheckpointer()

    async def slow(_request: Any) -> Any:
        now[0] += 10
        return call("add", {"a": 1})

    _, error = await saved_run(worker(slow), store, budget=RunBudget(max_seconds=5))
    assert isinstance(error, BudgetExceeded)
    now[0] += 1_000_000
    _, error = await saved_run(worker(text("x")), store, budget=RunBudget(max_seconds=9))
    assert isinstance(error, BudgetExceeded)
    _, result = await saved_run(worker(text("ok")), store, budget=RunBudget(max_seconds=30))
    assert result.output == "ok"


async def test_failed_attempts_count_over_lives() -> None:
    """What a failed model call reported is part of the usage after the run was resumed."""
    store = InMemoryCheckpointer()

    cut = broken(AssistantTurn("half", usage=Usage(5, 3)), ProviderError("cut"))
    agent = worker(call("add", {"a": 1}), cut)
    _, error = await saved_run(agent, store)
    assert isinstance(error, ProviderError)
    saved = await store.load("r")
    assert saved is not None
    assert (saved.status, saved.outcome) == ("failed", "failed")
    _, result = await saved_run(worker(text("ok")), store)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 5)


async def test_what_a_save_writes_does_not_grow(tmp_path: Path) -> None:
    """After hundreds of entries a save writes as much as it did at the start."""
    sizes: list[int] = []

    class Weighing(SQLiteCheckpointer):
        async def append(self, run_id: str, entries: Any, head: Any) -> int:
            sizes.append(await super().append(run_id, entries, head))
            return sizes[-1]

    agent = worker(*[call("add", {"a": 1})] * 150, text("done"))
    async with Weighing(tmp_path / "c.db") as store:
        _, result = await saved_run(agent, store, max_turns=200)
    assert len(result.entries) == 302
    assert len(sizes) == 1 + 300 + 2
    assert max(sizes[-100:]) < 1.05 * max(sizes[10:100])


# --- another one at work ---


async def test_two_processes_do_not_share_a_run() -> None:
    """Who is overtaken fails at its next save, and what the other one saved stays."""
    store = InMemoryCheckpointer()
    overtaken: list[Any] = []

    async def overtake(_request: Any) -> Any:
        overtaken.append(await saved_run(worker(text("fast")), store))
        return text("slow")

    _, outcome = await saved_run(worker(overtake), store)
    assert isinstance(outcome, CheckpointConflict)
    assert overtaken[0][1].output == "fast"
    saved = await store.load("r")
    assert saved is not None
    assert saved.output == "fast"
    assert "could not be saved" in "".join(outcome.__notes__)


# --- what a session gets ---


async def test_a_session_gets_a_saved_run_once() -> None:
    """A replayed run is in the conversation once; a session that lacks it gets it."""
    store, session = InMemoryCheckpointer(), InMemorySession()
    options: dict[str, Any] = {"session": session, "session_id": "s"}
    _, result = await saved_run(worker(text("ok")), store, **options)
    await saved_run(worker(), store, **options)
    assert await session.load("s") == result.entries
    other = InMemorySession()
    await saved_run(worker(), store, session=other, session_id="s")
    assert await other.load("s") == result.entries


async def test_the_policy_s_memory_is_written_when_it_changed() -> None:
    """Heads name the content of the memory; it is another name only after another content."""

    class Remembering(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.state["half"] = len(self.contexts) // 2
            return await super().apply(entries, ctx=ctx)

    store, policy = Watched(), Remembering()
    agent = worker(*[call("add", {"a": 1})] * 3, text("ok"), context_policy=policy)
    await saved_run(agent, store)
    names = [head.context_revision for head in store.heads]
    assert len(names) == 1 + 3 * 2 + 2
    assert len(set(names)) == 3
    saved = await store.load("r")
    assert saved is not None
    assert list(saved.context_state.values()) == [{"half": 1}]


async def test_memory_that_is_no_json_is_refused_by_name() -> None:
    """A policy that keeps something that cannot be saved fails the run, and is named."""

    class Odd(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.state["x"] = object()
            return await super().apply(entries, ctx=ctx)

    agent = worker(text("ok"), context_policy=Odd())
    _, error = await saved_run(agent, InMemoryCheckpointer())
    assert isinstance(error, UserError)
    assert "Odd" in error.message
