"""Compaction on request, while a run goes on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from lovia import Agent, ContextPolicyResult, RunHandle, Runner, UserError, events, tool
from lovia.testing import ScriptedProvider, call, text
from tests.runtime.support import Untouched, events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


@tool
def look() -> str:
    """Look."""
    return "seen " * 50


class OnRequest(Untouched):
    """A policy that keeps the last two entries when somebody asks."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.focus: list[str | None] = []
        self._error = error

    async def compact_now(self, entries: Any, *, ctx: Any, focus: str | None) -> Any:
        """Keep the last two entries."""
        self.focus.append(focus)
        if self._error is not None:
            raise self._error
        return ContextPolicyResult(entries[-2:], changed=True, reason="manual_summary")


def looking(policy: Any) -> Agent[Any]:
    """Return an agent that looks twice."""
    return scripted(call("look"), call("look"), text("ok"), tools=[look], context_policy=policy)


async def ask_at(handle: RunHandle, turn: int, focus: str | None) -> tuple[list[Any], list[Any]]:
    """Read a run and ask for a compaction when a turn has ended; return events and answers."""
    answers: list[Any] = []

    async def wait(ticket: Any) -> None:
        try:
            answers.append(await ticket)
        except Exception as error:  # noqa: BLE001 - the answer is what is looked at
            answers.append(error)

    seen = []
    async with anyio.create_task_group() as tasks, handle:
        async for event in handle:
            seen.append(event)
            if isinstance(event, events.TurnEnded) and event.turn == turn:
                tasks.start_soon(wait, handle.compact(focus=focus))
    return seen, answers


async def test_the_next_model_call_sends_the_compacted_view() -> None:
    """The policy is asked with the focus; whoever waits gets the event that everybody gets."""
    policy = OnRequest()
    agent = looking(policy)
    seen, answers = await ask_at(Runner.stream(agent, "go"), 1, "names")
    told = [event for event in seen if isinstance(event, events.ContextCompacted)]
    assert answers == told
    assert (told[0].reason, told[0].reactive) == ("manual_summary", False)
    assert policy.focus == ["names"]
    assert [len(request.entries) for request in provider_of(agent).requests] == [1, 2, 5]


async def test_the_default_policy_compacts_on_request() -> None:
    """With the default policy a summary is written although there was no need."""
    provider = ScriptedProvider(
        [*[call("look")] * 12, text("ok")],
        usage="counted",
        summarize="## Goal\nLook.\n\n## State\nLooked.\n\n## Planned\nLook on.",
    )
    agent = Agent("bot", model=provider, tools=[look])
    seen, (answer,) = await ask_at(Runner.stream(agent, "go"), 11, None)
    assert isinstance(answer, events.ContextCompacted)
    assert answer.reason == "manual_summary"
    assert answer.summary
    assert kinds(seen)[-1] == "RunCompleted"


async def test_a_policy_that_cannot_says_so() -> None:
    """The asker gets an error; the run goes on as if nothing was asked."""
    seen, (answer,) = await ask_at(Runner.stream(looking(Untouched()), "go"), 1, None)
    assert isinstance(answer, UserError)
    assert kinds(seen)[-1] == "RunCompleted"


async def test_a_failure_is_the_asker_s() -> None:
    """What the policy raises reaches the asker, and the run goes on without."""
    seen, (answer,) = await ask_at(Runner.stream(looking(OnRequest(OSError("x"))), "go"), 1, None)
    assert isinstance(answer, OSError)
    assert kinds(seen)[-1] == "RunCompleted"


async def test_what_comes_too_late_is_settled() -> None:
    """A request that no model call came to ends with nothing, also when it comes after the end."""
    handle = Runner.stream(looking(OnRequest()), "go")
    _, answers = await ask_at(handle, 3, None)
    assert answers == [None]
    assert await handle.compact() is None


async def test_the_reader_cannot_wait_for_it() -> None:
    """Awaiting a ticket in the loop over the events would hang, so it is an error."""
    handle = Runner.stream(looking(OnRequest()), "go")
    async with handle:
        async for event in handle:
            if isinstance(event, events.TurnStarted):
                with pytest.raises(UserError, match="loop that reads"):
                    await handle.compact()
                break


async def test_a_reader_may_ask_without_waiting() -> None:
    """A request that nobody awaits works all the same."""
    policy = OnRequest()
    handle = Runner.stream(looking(policy), "go")

    def ask(event: events.Event) -> None:
        if isinstance(event, events.TurnStarted) and event.turn == 2:
            handle.compact(focus="x")

    assert "ContextCompacted" in kinds(await events_of(handle, ask))
    assert policy.focus == ["x"]
