"""Turns, handoffs, limits, and the one last event."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from lovia import (
    Agent,
    AgentHooks,
    AssistantTextEntry,
    BudgetExceeded,
    InputEntry,
    LoviaError,
    MaxTurnsExceeded,
    ProviderError,
    RetryPolicy,
    RunBudget,
    RunContext,
    Runner,
    TextPart,
    ToolCallEntry,
    UserError,
    assistant,
    events,
    system,
    tool,
    user,
)
from lovia.testing import ScriptedProvider, batch, broken, call, text
from tests.runtime.support import Untouched, events_of, kinds, provider_of, scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia import TranscriptEntry

pytestmark = pytest.mark.anyio


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


async def test_a_run_tells_what_happens_in_order() -> None:
    """Events come in the order of the work: run, turn, message, tools, end of the turn, end."""
    agent = scripted(call("add", {"a": 1}), text("it is 3", reasoning="hm"), tools=[add])
    seen = await events_of(Runner.stream(agent, "1 + 2?"))
    assert kinds(seen) == [
        "RunStarted",
        *("TurnStarted", "MessageCompleted", "ToolCallStarted", "ToolCallCompleted", "TurnEnded"),
        *("TurnStarted", "ReasoningDelta", "TextDelta", "TextDelta", "TextDelta"),
        *("MessageCompleted", "TurnEnded", "RunCompleted"),
    ]


async def test_the_result_holds_what_the_run_added() -> None:
    """Output, entries, usage, turns and the answering agent are those of the run."""
    agent = scripted(call("add", {"a": 1}), text("it is 3"), tools=[add], instructions="Add.")
    result = await Runner.run(agent, "1 + 2?")
    assert result.output == "it is 3"
    assert [type(entry).__name__ for entry in result.entries] == [
        "InputEntry",
        "ToolCallEntry",
        "ToolResultEntry",
        "AssistantTextEntry",
    ]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (2, 2)
    assert (result.turns, result.finish_reason, result.last_input_tokens) == (2, "stop", 1)
    assert result.final_agent is agent


async def test_a_request_is_the_system_prompt_and_the_view() -> None:
    """Each request leads with the same system entry; it is not part of the transcript."""
    agent = scripted(call("add", {"a": 1}), text("3"), tools=[add], instructions="Add.")
    result = await Runner.run(agent, "1 + 2?")
    first, second = (request.entries for request in provider_of(agent).requests)
    assert first == [InputEntry("system", "Add."), InputEntry("user", "1 + 2?")]
    assert second[0] is first[0]
    assert second[1:] == result.entries[:3]


async def test_a_request_does_not_change_after_it_was_sent() -> None:
    """A provider that keeps the list it was given sees what it was sent, not what came later."""
    kept: list[list[TranscriptEntry]] = []

    class Keeping(ScriptedProvider):
        def stream(self, entries: list[TranscriptEntry], **kwargs: Any) -> Any:
            kept.append(entries)
            return super().stream(entries, **kwargs)

    agent = scripted(provider=Keeping([call("add", {"a": 1}), text("3")]), tools=[add])
    await Runner.run(agent, "1 + 2?")
    assert [len(entries) for entries in kept] == [1, 3]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("hi", [InputEntry("user", "hi")]),
        ([TextPart("hi")], [InputEntry("user", [TextPart("hi")])]),
        (TextPart("hi"), [InputEntry("user", [TextPart("hi")])]),
        (InputEntry("user", "hi"), [InputEntry("user", "hi")]),
        ([user(TextPart("hi"))], [InputEntry("user", [TextPart("hi")])]),
        (
            [system("s"), user("hi"), assistant("ho")],
            [InputEntry("system", "s"), InputEntry("user", "hi"), AssistantTextEntry("ho")],
        ),
        (
            [InputEntry("system", "s"), InputEntry("user", "hi")],
            [InputEntry("system", "s"), InputEntry("user", "hi")],
        ),
    ],
)
async def test_input_is_text_parts_or_entries(given: Any, expected: list[Any]) -> None:
    """Text and parts become one user message; entries stay what they are."""
    result = await Runner.run(scripted(text("ok")), given)
    assert result.entries[:-1] == expected


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], "an empty list"),
        (7, "a int"),
        ([TextPart("a"), "b"], "item 1 is a str"),
        ([InputEntry("system", "s")], "system messages only"),
    ],
)
async def test_odd_input_is_refused(given: Any, named: str) -> None:
    """Input of another shape fails the run with an error that names what is odd."""
    with pytest.raises(UserError, match=named):
        await Runner.run(scripted(text("ok")), given)


async def test_a_run_stops_at_its_last_turn() -> None:
    """A run that still wants tools after `max_turns` turns ends with the results recorded."""
    agent = scripted(*[call("add", {"a": 1})] * 3, tools=[add])
    seen = await events_of(Runner.stream(agent, "go", max_turns=2))
    assert isinstance(seen[-1], events.RunFailed)
    assert isinstance(seen[-1].error, MaxTurnsExceeded)
    assert kinds(seen).count("ToolCallCompleted") == 2


async def test_a_spent_budget_ends_the_run_between_calls() -> None:
    """The budget is looked at before each model call; a call that spends it still counts."""
    agent = scripted(*[call("add", {"a": 1})] * 3, tools=[add])
    budget = RunBudget(max_total_tokens=3)
    with pytest.raises(BudgetExceeded) as caught:
        await Runner.run(agent, "go", budget=budget)
    assert caught.value.limit == "max_total_tokens"
    assert len(provider_of(agent).requests) == 2


async def test_the_context_is_one_object_for_all() -> None:
    """Tools, hooks and instructions get the same context, and it follows the run."""
    seen: list[tuple[int, int, int]] = []
    contexts: list[RunContext[str]] = []
    hooks = AgentHooks()

    @hooks.on(events.TurnStarted)
    def note(_event: events.TurnStarted, ctx: RunContext[Any]) -> None:
        contexts.append(ctx)

    def instructions(ctx: RunContext[str]) -> str:
        contexts.append(ctx)
        return f"Serve {ctx.deps}."

    @tool
    def look(ctx: RunContext[str]) -> str:
        """Look around."""
        contexts.append(ctx)
        seen.append((ctx.turn, len(ctx.entries), ctx.usage.total_tokens))
        return ctx.system_prompt

    agent = scripted(
        *(call("look"), text("ok")), tools=[look], instructions=instructions, hooks=hooks
    )
    result = await Runner.run(agent, "go", deps="Ada", extra_instructions="Be brief.")
    assert len({id(ctx) for ctx in contexts}) == 1
    assert contexts[0].run_id == result.run_id
    assert seen == [(1, 2, 2)]
    assert result.entries[2].output == "Serve Ada.\n\nBe brief."  # type: ignore[union-attr]


async def test_a_handoff_lets_the_target_speak() -> None:
    """The target goes on with the whole conversation, its own instructions and its own tools."""
    other = scripted(text("done"), name="billing desk", instructions="You bill.", tools=[add])
    agent = scripted(
        call("transfer_to_billing_desk", {"reason": "money"}),
        handoffs=[other],
        instructions="You greet.",
    )
    seen = await events_of(Runner.stream(agent, "pay"))
    handed = [event for event in seen if isinstance(event, events.HandoffOccurred)]
    assert [(event.from_agent, event.to_agent) for event in handed] == [(agent, other)]
    assert isinstance(seen[-1], events.RunCompleted)
    result = seen[-1].result
    assert (result.final_agent, result.turns, result.usage.total_tokens) == (other, 2, 4)
    (request,) = provider_of(other).requests
    assert request.entries[0] == InputEntry("system", "You bill.")
    assert request.entries[1:] == result.entries[:-1]
    assert [schema["function"]["name"] for schema in request.tools] == ["add"]


async def test_calls_beside_a_handoff_are_run_first() -> None:
    """A turn with a transfer and other tools runs them all before the target speaks."""
    other = scripted(text("done"), name="b")
    agent = scripted(batch(("transfer_to_b", {}), ("add", {"a": 1})), handoffs=[other], tools=[add])
    seen = await events_of(Runner.stream(agent, "pay"))
    names = kinds(seen)
    assert names.index("HandoffOccurred") > max(
        index for index, name in enumerate(names) if name == "ToolCallCompleted"
    )
    assert len(provider_of(other).requests) == 1


async def test_hooks_of_both_agents_hear_of_a_handoff() -> None:
    """Each agent's hooks hear the events of its time, and both hear of the handoff, once."""
    heard: list[str] = []
    hooks = {name: AgentHooks() for name in "ab"}

    def note(name: str, event: events.Event, _ctx: RunContext[Any]) -> None:
        heard.append(f"{name}:{type(event).__name__}")

    for name, one in hooks.items():
        one.on_any(partial(note, name))
    other = scripted(text("done"), name="b", hooks=hooks["b"])
    await Runner.run(scripted(call("transfer_to_b"), handoffs=[other], hooks=hooks["a"]), "go")
    assert [entry for entry in heard if "Handoff" in entry] == [
        "a:HandoffOccurred",
        "b:HandoffOccurred",
    ]
    assert heard[0] == "a:RunStarted"
    assert heard[-1] == "b:RunCompleted"


class _Broken(Untouched):
    async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> Any:
        raise OSError("no view")


class _Editing(Untouched):
    async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> Any:
        entries.pop()
        return await super().apply(entries, ctx=ctx)


class _Empty(Untouched):
    async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> Any:
        return []


def _raise(*_args: Any) -> str:
    raise OSError("no instructions")


FAILURES: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "no model": (lambda: Agent("bot", context_policy=Untouched()), UserError),
    "unknown vendor": (
        lambda: Agent("bot", model="nobody:x", context_policy=Untouched()),
        UserError,
    ),
    "no provider": (lambda: scripted(provider=cast("Any", object())), UserError),
    "no policy": (lambda: scripted(text("ok"), context_policy=object()), UserError),
    "no tool": (lambda: scripted(text("ok"), tools=[print]), UserError),
    "two tools of a name": (lambda: scripted(text("ok"), tools=[add, add]), UserError),
    "no handoff": (lambda: scripted(text("ok"), handoffs=["b"]), UserError),
    "no agent": (lambda: "agent", UserError),
    "instructions raise": (lambda: scripted(text("ok"), instructions=_raise), OSError),
    "instructions are no text": (
        lambda: scripted(text("ok"), instructions=lambda _ctx: 7),
        UserError,
    ),
    "policy raises": (lambda: scripted(text("ok"), context_policy=_Broken()), OSError),
    "policy edits the transcript": (
        lambda: scripted(text("ok"), context_policy=_Editing()),
        LoviaError,
    ),
    "policy returns nothing": (lambda: scripted(text("ok"), context_policy=_Empty()), LoviaError),
    "provider raises": (lambda: scripted(ProviderError("down")), ProviderError),
    "provider breaks": (
        lambda: scripted(broken(text("half"), ProviderError("cut"))),
        ProviderError,
    ),
    "script is used up": (scripted, UserError),
}


@pytest.mark.parametrize("case", FAILURES)
@pytest.mark.filterwarnings("ignore:_Empty:DeprecationWarning")
async def test_every_failure_ends_the_stream_once(case: str) -> None:
    """Whatever raises, and however early, the last event is the only RunFailed; result() raises."""
    agent, kind = FAILURES[case]
    handle = Runner.stream(agent(), "go")
    async with handle:
        seen = [event async for event in handle]
        with pytest.raises(kind) as caught:
            await handle.result()
    assert kinds(seen).count("RunFailed") == 1
    assert kinds(seen).count("RunCompleted") == 0
    assert isinstance(seen[-1], events.RunFailed)
    assert seen[-1].error is caught.value


async def test_a_failing_hook_fails_no_run() -> None:
    """A hook that raises at every event is counted, and the run completes."""
    hooks = AgentHooks()
    hooks.on_any(_raise)
    seen = await events_of(Runner.stream(scripted(text("ok"), hooks=hooks), "go"))
    assert kinds(seen)[-1] == "RunCompleted"
    assert hooks.failures == len(seen)


async def test_extra_instructions_and_retry_of_the_run_win() -> None:
    """What the caller asks for in one run comes before what the agent says."""
    agent = scripted(ProviderError("down", retryable=True), text("ok"))
    with pytest.raises(ProviderError):
        await Runner.run(agent, "go", retry=RetryPolicy(max_attempts=1))


def test_run_sync_runs_to_the_end() -> None:
    """Code that is not async gets the same result, from the runner and from the agent."""
    assert Runner.run_sync(scripted(text("a")), "go").output == "a"
    assert scripted(text("b")).run_sync("go").output == "b"


async def test_calls_keep_the_text_that_the_model_wrote() -> None:
    """Arguments stay in the transcript exactly as written, also when they are no JSON."""
    agent = scripted(call("add", "{bad"), text("ok"), tools=[add])
    result = await Runner.run(agent, "go")
    assert result.entries[1] == ToolCallEntry("call_add", "add", "{bad")
