"""Asking somebody before a tool runs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from lovia import AgentHooks, ApprovalChannel, CancelToken, RunHandle, Runner, events, tool
from lovia.testing import batch, call, text
from tests.runtime.support import events_of, kinds, scripted

pytestmark = pytest.mark.anyio


@tool(needs_approval=True)
def refund(amount: int) -> str:
    """Pay back."""
    return f"paid {amount}"


@tool(needs_approval=lambda args, _ctx: args["amount"] > 10)
def small(amount: int) -> str:
    """Pay back a little."""
    return f"paid {amount}"


def outputs(seen: list[events.Event]) -> list[str]:
    """Return what the model reads of each call."""
    return [event.output for event in seen if isinstance(event, events.ToolCallCompleted)]


REFUSED = "Tool 'refund' was not approved."


@pytest.mark.parametrize(
    ("answer", "output"), [("approve", "paid 5"), ("reject", REFUSED), (None, REFUSED)]
)
async def test_a_reader_decides(answer: str | None, output: str) -> None:
    """The reader approves or rejects on the event; an unanswered question is a no."""

    def decide(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired) and answer:
            getattr(event, answer)()

    agent = scripted(call("refund", {"amount": 5}), text("ok"), tools=[refund])
    seen = await events_of(Runner.stream(agent, "go"), decide)
    assert outputs(seen) == [output]
    assert ("ToolCallStarted" in kinds(seen)) == (output == "paid 5")
    assert "ToolCallFailed" not in kinds(seen)


async def test_a_reader_may_take_its_time() -> None:
    """A reader that awaits inside its loop is waited for; an answer may come from another task."""
    agent = scripted(call("refund", {"amount": 5}), text("ok"), tools=[refund])

    async def decide(handle: RunHandle, call_id: str) -> None:
        await anyio.sleep(0.01)
        assert handle.approvals.is_pending(call_id)
        handle.approvals.approve(call_id)

    seen = []
    async with Runner.stream(agent, "go") as handle:
        async for event in handle:
            seen.append(event)
            if isinstance(event, events.ApprovalRequired):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(decide, handle, event.call.id)
    assert outputs(seen) == ["paid 5"]


async def test_a_hook_can_decide() -> None:
    """Without a reader a hook may answer; nobody answering does not hang the run."""
    hooks = AgentHooks()

    @hooks.on(events.ApprovalRequired)
    def allow(event: events.ApprovalRequired, _ctx: Any) -> None:
        event.approve()

    script = (call("refund", {"amount": 5}), text("ok"))
    allowed = await Runner.run(scripted(*script, tools=[refund], hooks=hooks), "go")
    refused = await Runner.run(scripted(*script, tools=[refund]), "go")
    assert [run.entries[2].output for run in (allowed, refused)] == ["paid 5", REFUSED]  # type: ignore[union-attr]


@pytest.mark.parametrize("answer", ["approve", "reject", None])
@pytest.mark.parametrize(
    ("decision", "output"),
    [
        (True, "paid 5"),
        ("allow", "paid 5"),
        (False, REFUSED),
        ("deny", REFUSED),
        ("ask", REFUSED),
    ],
)
async def test_the_agent_s_handler_decides_last(
    decision: Any, output: str, answer: str | None
) -> None:
    """Everybody is told that consent is needed; the handler decides when nobody answered."""
    handled = []

    async def handler(call: events.ToolCall, _ctx: Any) -> Any:
        handled.append(call.name)
        return decision

    def decide(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired) and answer:
            getattr(event, answer)()

    agent = scripted(
        *(call("refund", {"amount": 5}), text("ok")), tools=[refund], approval_handler=handler
    )
    seen = await events_of(Runner.stream(agent, "go"), decide)
    assert kinds(seen).count("ApprovalRequired") == 1
    assert handled == ([] if answer else ["refund"])
    assert outputs(seen) == [{"approve": "paid 5", "reject": REFUSED}.get(str(answer), output)]


async def test_the_arguments_can_decide_whether_to_ask() -> None:
    """A predicate asks for some calls and lets others run."""
    calls = batch(("small", {"amount": 5}), ("small", {"amount": 50}))
    seen = await events_of(Runner.stream(scripted(calls, text("ok"), tools=[small]), "go"))
    assert outputs(seen) == ["Tool 'small' was not approved.", "paid 5"]
    asked = [event for event in seen if isinstance(event, events.ApprovalRequired)]
    assert [event.call.id for event in asked] == ["call_1_small"]


@pytest.mark.parametrize("place", ["predicate", "handler", "odd decision"])
async def test_what_fails_while_asking_refuses_the_call(place: str) -> None:
    """An error in predicate or handler is an error result; the tool does not run."""

    def fail(*_args: Any) -> Any:
        if place == "odd decision":
            return "maybe"
        raise ValueError("broken")

    made = tool(needs_approval=fail if place == "predicate" else True)(refund_body)
    agent = scripted(
        *(call("refund_body", {"amount": 5}), text("ok")), tools=[made], approval_handler=fail
    )
    seen = await events_of(Runner.stream(agent, "go"))
    assert "ToolCallFailed" in kinds(seen)
    assert outputs(seen)[0].startswith("Tool error:")


def refund_body(amount: int) -> str:
    """Pay back."""
    return f"paid {amount}"


async def test_a_run_that_was_stopped_meanwhile_runs_nothing() -> None:
    """A stop that is asked for while somebody decides comes before the decision."""
    token = CancelToken()
    agent = scripted(call("refund", {"amount": 5}), tools=[refund])

    def decide(event: events.Event) -> None:
        if isinstance(event, events.ApprovalRequired):
            event.approve()
            token.cancel()

    seen = await events_of(Runner.stream(agent, "go", cancel_token=token), decide)
    assert kinds(seen)[-1] == "RunFailed"
    assert outputs(seen) == []


def test_a_question_has_one_answer() -> None:
    """The first answer counts, unknown ids are nobody's, scopes are apart, release answers all."""
    channel = ApprovalChannel()
    for scope in ("s", None):
        channel.register("a", scope=scope)
    channel.register("b", scope="s")
    assert channel.resolve("a", True, scope="s")
    assert not channel.resolve("a", False, scope="s")
    assert not channel.resolve("nobody", True)
    channel.release(scope="s")
    assert [channel.discard("a", scope="s"), channel.discard("b", scope="s")] == [True, False]
    assert channel.is_pending("a")
    assert channel.discard("a") is None
    assert channel.discard("a") is None
