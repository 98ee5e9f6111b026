"""Approvals that are left for later: the run is saved, and goes on days after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    AgentHooks,
    CheckpointOptions,
    Handoff,
    InMemoryCheckpointer,
    RunBudget,
    Runner,
    RunSuspended,
    SQLiteCheckpointer,
    ToolResultEntry,
    UserError,
    events,
    tool,
)
from lovia.testing import batch, call, text
from lovia_otel import names
from tests.runtime.saving import Plain, add, saved_run
from tests.runtime.support import kinds, provider_of, scripted

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import Agent
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio


class Till:
    """A tool that pays back when it is allowed to."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    def agent(self, *script: Any, **fields: Any) -> Agent[Any]:
        """Return an agent with the tool, and one that needs no approval."""
        refund = tool(self.refund, needs_approval=True)
        return scripted(*script, tools=[refund, add], **fields)

    def refund(self, amount: int) -> str:
        """Pay back."""
        self.paid.append(amount)
        return f"paid {amount}"


def deferring(event: events.Event) -> None:
    """Leave every answer for later."""
    if isinstance(event, events.ApprovalRequired):
        event.defer()


def outputs(result: Any) -> list[str]:
    """Return the results in a run's transcript."""
    return [e.output for e in result.entries if isinstance(e, ToolResultEntry)]


REFUSED = "Tool 'refund' was not approved."


@pytest.mark.parametrize("make", [InMemoryCheckpointer, Plain])
@pytest.mark.parametrize(
    ("answer", "output"), [(True, "paid 5"), (False, REFUSED), (None, REFUSED), ("event", "paid 5")]
)
async def test_a_run_waits_and_goes_on(make: Any, answer: Any, output: str) -> None:
    """A deferred call suspends the run; later it is answered by argument, or asked about again."""
    store, till = make(), Till()
    agent = till.agent(call("refund", {"amount": 5}))
    seen, error = await saved_run(agent, store, deferring)
    assert isinstance(error, RunSuspended)
    assert (error.run_id, error.waiting) == ("r", ("call_refund",))
    assert kinds(seen)[-2:] == ["ApprovalRequired", "RunFailed"]
    saved = await store.load("r")
    assert (saved.status, saved.outcome, saved.progress.waiting) == (
        *("interrupted", "suspended"),
        (1,),
    )
    assert till.paid == []

    def react(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired) and answer == "event":
            event.approve()

    approvals = {"call_refund": answer} if isinstance(answer, bool) else {}
    checkpoint = CheckpointOptions(store, "r", approvals=approvals)
    agent = till.agent(text("ok"))
    seen, result = await saved_run(agent, store, react, checkpoint=checkpoint)
    assert ("ApprovalRequired" in kinds(seen)) is not isinstance(answer, bool)
    assert outputs(result) == [output]
    assert len(provider_of(agent).requests) == 1


async def test_all_calls_of_a_turn_are_asked_about(tmp_path: Path) -> None:
    """After the first deferred call nothing runs, but the others are asked about and noted."""
    till, asked = Till(), list[str]()
    calls = batch(
        ("add", {"a": 1}, "c0"),
        ("refund", {"amount": 1}, "c1"),
        ("add", {"a": 2}, "c2"),
        ("refund", {"amount": 2}, "c3"),
        ("refund", {"amount": "x"}, "c4"),
        ("refund", {"amount": 3}, "c5"),
    )

    def react(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired):
            asked.append(event.call.id)
            {"c1": event.defer, "c3": event.approve, "c5": event.defer}[event.call.id]()

    async with SQLiteCheckpointer(tmp_path / "c.db") as store:
        _, error = await saved_run(till.agent(calls), store, react)
        assert isinstance(error, RunSuspended)
        assert (error.waiting, asked) == (("c1", "c5"), ["c1", "c3", "c5"])
        assert till.paid == []
        saved = await store.load("r")
        assert saved is not None
        assert saved.progress.tool_calls == 1
        asked.clear()
        answered = CheckpointOptions(store, "r", approvals={"c1": True})
        _, error = await saved_run(till.agent(), store, react, checkpoint=answered)
        assert isinstance(error, RunSuspended)
        assert (error.waiting, asked, sorted(till.paid)) == (("c5",), ["c5"], [1, 2])
        answered = CheckpointOptions(store, "r", approvals={"c5": False})
        _, result = await saved_run(till.agent(text("ok")), store, checkpoint=answered)
    assert outputs(result)[:4] == ["3", "paid 1", "4", "paid 2"]
    assert outputs(result)[4].startswith("Tool error")
    assert outputs(result)[5] == REFUSED


async def test_deferring_needs_a_checkpointer() -> None:
    """Without one `defer()` raises in the reader's code, and the call can still be answered."""
    till, refused = Till(), list[UserError]()

    def react(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired):
            with pytest.raises(UserError, match="not saved") as caught:
                event.defer()
            refused.append(caught.value)
            event.approve()

    agent = till.agent(call("refund", {"amount": 5}), text("ok"))
    _, result = await saved_run(agent, None, react, checkpoint=CheckpointOptions())
    assert outputs(result) == ["paid 5"]
    assert refused[0].hint is not None


@pytest.mark.parametrize("by", ["hook", "handler"])
async def test_hooks_and_handlers_can_defer(by: str) -> None:
    """Whoever may answer may leave the answer for later."""
    store, till, hooks = InMemoryCheckpointer(), Till(), AgentHooks()
    fields: dict[str, Any] = {"approval_handler": lambda _call, _ctx: "defer"}
    if by == "hook":
        hooks.on(events.ApprovalRequired)(lambda event, _ctx: event.defer())
        fields = {"hooks": hooks}
    _, error = await saved_run(till.agent(call("refund", {"amount": 5}), **fields), store)
    assert isinstance(error, RunSuspended)
    agent = till.agent(call("refund", {"amount": 5}), text("ok"), **fields)
    result = await Runner.run(agent, "go")
    assert till.paid == []
    assert result.output == "ok"


async def test_a_handoff_waits_with_the_run() -> None:
    """A handoff that fired beside a deferred call is applied when the run goes on."""
    store, till, fired = InMemoryCheckpointer(), Till(), list[int]()

    def desk(*of_a: Any) -> Agent[Any]:
        b = scripted(text("b here"), name="b")
        handoff = Handoff(b, on_handoff=lambda _a, _c: fired.append(1))
        return till.agent(*of_a, name="a", handoffs=[handoff])

    calls = batch(("transfer_to_b", {}), ("refund", {"amount": 5}, "c"))
    _, error = await saved_run(desk(calls), store, deferring)
    assert isinstance(error, RunSuspended)
    answered = CheckpointOptions(store, "r", approvals={"c": True})
    _, result = await saved_run(desk(), store, checkpoint=answered)
    assert (result.output, till.paid, fired) == ("b here", [5], [1])


async def test_a_waiting_call_counts_once_in_the_budget() -> None:
    """A call that was looked at twice is one call."""
    store, till = InMemoryCheckpointer(), Till()
    await saved_run(till.agent(call("refund", {"amount": 5})), store, deferring)
    answered = CheckpointOptions(store, "r", approvals={"call_refund": True})
    budget = RunBudget(max_tool_calls=1)
    agent = till.agent(text("ok"))
    _, result = await saved_run(agent, store, checkpoint=answered, budget=budget)
    assert (result.output, budget.tool_calls) == ("ok", 1)


async def test_a_suspended_run_is_no_failure_in_telemetry(telemetry: Telemetry) -> None:
    """Its span has the outcome `suspended` and no error; the resumed run links to it."""
    store, till = InMemoryCheckpointer(), Till()
    await saved_run(till.agent(call("refund", {"amount": 5})), store, deferring)
    waited = telemetry.spans["invoke_agent bot"]
    assert (waited.attributes or {})[names.RUN_OUTCOME] == "suspended"
    assert names.ERROR_TYPE not in (waited.attributes or {})
    assert waited.status.is_ok or waited.status.is_unset
    assert telemetry.spans["agent_turn"].status.is_unset
    _, result = await saved_run(till.agent(text("ok")), store)
    assert result.output == "ok"
    (link,) = telemetry.spans["invoke_agent bot"].links
    context = waited.get_span_context()
    assert context is not None
    assert link.context.span_id == context.span_id
