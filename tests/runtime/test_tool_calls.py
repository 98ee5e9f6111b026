"""Tool calls: checks, parallel runs, barriers, order, interruption."""

from __future__ import annotations

import threading
from datetime import date
from typing import Any

import anyio
import anyio.from_thread
import pytest

from lovia import (
    Agent,
    BudgetExceeded,
    CancelToken,
    ImagePart,
    RunBudget,
    RunCancelled,
    Runner,
    TextPart,
    ToolError,
    ToolResultEntry,
    events,
    tool,
)
from lovia.testing import batch, call, text
from lovia.transcript.validation import validate_view
from tests.runtime.support import events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


def results(entries: Any) -> list[tuple[str, str]]:
    """Return id and text of the results in a transcript."""
    return [(e.call_id, e.output) for e in entries if isinstance(e, ToolResultEntry)]


def noting(contexts: list[Any]) -> Any:
    """Return instructions that note the context they are rendered for."""

    def instructions(ctx: Any) -> str:
        contexts.append(ctx)
        return ""

    return instructions


async def output_of(agent: Agent[Any]) -> ToolResultEntry:
    """Run an agent and return the only tool result."""
    (entry,) = [
        e for e in (await Runner.run(agent, "go")).entries if isinstance(e, ToolResultEntry)
    ]
    return entry


@tool
async def word(value: str) -> str:
    """Return the word."""
    return value


async def test_calls_of_a_turn_run_side_by_side() -> None:
    """Two calls that wait for each other both finish."""
    here, there = anyio.Event(), anyio.Event()

    @tool
    async def left() -> str:
        """Go first, wait for the other."""
        here.set()
        await there.wait()
        return "l"

    @tool
    async def right() -> str:
        """Wait for the other."""
        await here.wait()
        there.set()
        return "r"

    agent = scripted(batch(("left", {}), ("right", {})), text("ok"), tools=[left, right])
    with anyio.fail_after(10):
        result = await Runner.run(agent, "go")
    assert results(result.entries) == [("call_0_left", "l"), ("call_1_right", "r")]


async def test_results_stand_in_the_order_of_the_calls() -> None:
    """However long each call takes, results stand in call order, also with equal ids."""

    @tool
    async def wait(seconds: float) -> str:
        """Wait."""
        await anyio.sleep(seconds)
        return str(seconds)

    calls = batch(("wait", {"seconds": 0.03}, "c"), ("wait", {"seconds": 0}, "c"), ("no", {}, "c"))
    result = await Runner.run(scripted(calls, text("ok"), tools=[wait]), "go")
    assert [output for _, output in results(result.entries)] == [
        "0.03",
        "0.0",
        "Tool 'no' is not available.",
    ]


async def test_a_barrier_runs_alone() -> None:
    """`parallel=False` waits for the calls before it, and those after it wait for it."""
    running, log = set[str](), []

    def named(name: str, *, parallel: bool) -> Any:
        async def body() -> str:
            """Work."""
            running.add(name)
            log.append((name, sorted(running)))
            await anyio.sleep(0.01)
            running.remove(name)
            return name

        return tool(body, name=name, parallel=parallel)

    tools = [named(n, parallel=n != "c") for n in "abcd"]
    agent = scripted(batch(*[(n, {}) for n in "abcd"]), text("ok"), tools=tools)
    await Runner.run(agent, "go")
    assert dict(log)["c"] == ["c"]
    assert dict(log)["d"] == ["d"]
    assert [name for name, _ in log][2:] == ["c", "d"]


async def test_refused_calls_get_a_result_and_never_start() -> None:
    """Unknown tools, broken JSON and arguments that do not fit reach the model as error results."""
    calls = batch(("nope", {}), ("word", "{"), ("word", {"value": 1, "x": 2}))
    agent = scripted(calls, text("ok"), tools=[word])
    seen = await events_of(Runner.stream(agent, "go"))
    completed = [event for event in seen if isinstance(event, events.ToolCallCompleted)]
    assert "ToolCallStarted" not in kinds(seen)
    assert [event.is_error for event in completed] == [True] * 3
    assert kinds(seen).count("ToolCallFailed") == 2
    assert "not available" in completed[0].output
    assert "Invalid JSON" in completed[1].output
    assert "value" in completed[2].output


async def test_a_failing_tool_tells_both_sides() -> None:
    """The model reads the message, users get the exception; the run goes on."""
    error = ToolError("no such order", hint="Ask for the number.")

    @tool
    def fail() -> None:
        """Fail."""
        raise error

    agent = scripted(call("fail"), text("ok"), tools=[fail])
    seen = await events_of(Runner.stream(agent, "go"))
    failed = [event for event in seen if isinstance(event, events.ToolCallFailed)]
    assert [event.error for event in failed] == [error]
    (done,) = [event for event in seen if isinstance(event, events.ToolCallCompleted)]
    assert done.output == "Tool error: no such order\nHint: Ask for the number."
    assert kinds(seen)[-1] == "RunCompleted"


@pytest.mark.parametrize(("own", "default", "attempts"), [(2, 0, 3), (None, 1, 2), (0, 3, 1)])
async def test_failed_attempts_are_repeated(own: Any, default: int, attempts: int) -> None:
    """A tool's own retries win over the agent's default; each attempt has its own arguments."""
    tried: list[dict[str, Any]] = []

    async def spoil(_invoke: Any, args: dict[str, Any], _ctx: Any) -> Any:
        tried.append(dict(args))
        args.clear()
        raise ValueError("again")

    made = tool(_word, name="word", retries=own, policies=[spoil])
    agent = scripted(
        *(call("word", {"value": "x"}), text("ok")), tools=[made], default_tool_retries=default
    )
    await Runner.run(agent, "go")
    assert tried == [{"value": "x"}] * attempts


def _word(value: str) -> str:
    """Return the word."""
    return value


@pytest.mark.parametrize("own", [True, False])
async def test_a_slow_tool_times_out(own: bool) -> None:
    """A tool that takes too long gets an error result that says the limit."""

    @tool(timeout=0.01 if own else None)
    async def slow() -> None:
        """Sleep."""
        await anyio.sleep(30)

    agent = scripted(
        *(call("slow"), text("ok")), tools=[slow], default_tool_timeout=None if own else 0.01
    )
    entry = await output_of(agent)
    assert entry.is_error
    assert "longer than 0.01 seconds" in entry.output


async def test_a_timeout_inside_a_tool_is_the_tool_s_own() -> None:
    """A TimeoutError that a tool raises is reported as any other error."""

    @tool(timeout=30)
    async def fetch() -> None:
        """Fetch."""
        raise TimeoutError("no answer from the host")

    assert (await output_of(scripted(call("fetch"), text("ok"), tools=[fetch]))).output == (
        "Tool error: no answer from the host"
    )


@pytest.mark.parametrize(("own", "default", "kept"), [(50, None, 50), (None, 60, 60)])
async def test_a_long_result_is_cut_in_the_middle(own: Any, default: Any, kept: int) -> None:
    """The transcript keeps head and tail up to the cap, the tool's own or the agent's."""

    @tool(max_output_chars=own)
    def long() -> str:
        """Return much."""
        return "a" * 500 + "z" * 500

    agent = scripted(call("long"), text("ok"), tools=[long], max_tool_output_chars=default)
    entry = await output_of(agent)
    assert len(entry.output) == kept
    assert entry.output.startswith("aaa")
    assert entry.output.endswith("zz")
    assert "left out" in entry.output


async def test_texts_among_parts_are_capped_together() -> None:
    """Parts without text stay; the texts beside them share the cap."""

    @tool
    def show() -> list[Any]:
        """Show."""
        return ["a" * 90, ImagePart(url="u"), "b" * 90]

    entry = await output_of(
        scripted(call("show"), text("ok"), tools=[show], max_tool_output_chars=100)
    )
    first, image, last = entry.parts
    assert (first, image) == (TextPart("a" * 90), ImagePart(url="u"))
    assert isinstance(last, TextPart)
    assert len(last.text) == 10


@pytest.mark.parametrize(
    ("value", "output", "parts"),
    [
        ("as it is", "as it is", ()),
        (None, "null", ()),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}', ()),
        (TextPart("t"), "", (TextPart("t"),)),
        ([ImagePart(url="u")], "", (ImagePart(url="u"),)),
        (["see", ImagePart(url="u")], "", (TextPart("see"), ImagePart(url="u"))),
        (["see", "no part"], '["see", "no part"]', ()),
        ([], "[]", ()),
        ({1}, "[1]", ()),
        (RunBudget, str(RunBudget), ()),
        (RunBudget(max_tool_calls=1).max_tool_calls, "1", ()),
        (date(2026, 1, 2), "2026-01-02", ()),
        (["\ud800"], "['\\ud800']", ()),
        (b"\xff", "b'\\xff'", ()),
    ],
)
async def test_values_become_text_or_parts(value: Any, output: str, parts: Any) -> None:
    """Text stays, parts stay parts, everything else becomes JSON or its own text."""

    @tool
    def give() -> Any:
        """Give."""
        return value

    entry = await output_of(scripted(call("give"), text("ok"), tools=[give]))
    assert (entry.output, entry.parts, entry.is_error) == (output, parts, False)


@pytest.mark.parametrize("own", [True, False])
async def test_a_renderer_writes_what_the_model_reads(own: bool) -> None:
    """The tool's renderer, else the agent's, turns the value into text; events keep the value."""

    async def loud(value: Any, _ctx: Any) -> str:
        return f"<{value}>"

    made = tool(_word, name="word", result_renderer=loud if own else None)
    agent = scripted(
        *(call("word", {"value": "x"}), text("ok")),
        tools=[made],
        tool_result_renderer=None if own else loud,
    )
    seen = await events_of(Runner.stream(agent, "go"))
    (done,) = [event for event in seen if isinstance(event, events.ToolCallCompleted)]
    assert (done.output, done.result) == ("<x>", "x")


async def test_the_budget_of_tool_calls_is_checked_before_each() -> None:
    """The call over the limit is not run; what was begun is finished and recorded."""
    calls = batch(*[("word", {"value": str(i)}) for i in range(4)])
    agent = scripted(calls, tools=[word])
    handle = Runner.stream(agent, "go", budget=RunBudget(max_tool_calls=2))
    seen = await events_of(handle)
    with pytest.raises(BudgetExceeded) as caught:
        await handle.result()
    assert caught.value.limit == "max_tool_calls"
    assert kinds(seen).count("ToolCallCompleted") == 2


@pytest.mark.parametrize("in_thread", [True, False])
async def test_a_stop_interrupts_what_runs_and_begins_no_other(in_thread: bool) -> None:
    """After a stop finished results stay, a running call is interrupted, the next stays open."""
    transcript: list[Any] = []
    begun, end = anyio.Event(), threading.Event()

    def wait() -> None:
        """Wait in a thread."""
        anyio.from_thread.run_sync(begun.set)
        end.wait(30)

    async def sleep() -> None:
        """Wait in a task."""
        begun.set()
        await anyio.sleep(30)

    async def stop(token: CancelToken) -> None:
        await begun.wait()
        token.cancel("shutdown")

    calls = batch(("word", {"value": "a"}), ("alone", {}), ("word", {"value": "b"}))
    made = tool(wait if in_thread else sleep, name="alone", parallel=False)
    agent = scripted(calls, tools=[word, made], instructions=noting(transcript))
    token = CancelToken()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop, token)
            with pytest.raises(RunCancelled) as caught:
                await Runner.run(agent, "go", cancel_token=token)
    end.set()
    assert caught.value.reason == "shutdown"
    entries = transcript[0].entries
    (first, finished), (second, interrupted) = results(entries)
    assert (first, finished, second) == ("call_0_word", "a", "call_1_alone")
    assert "may have had an effect" in interrupted
    assert ("thread" in interrupted) is in_thread
    validate_view(entries)


def _alone() -> str:
    """Run alone."""
    return "alone"


async def test_interrupted_calls_have_a_result_that_says_so() -> None:
    """Native cancellation: finished results stay, interrupted calls say so, the rest stays open."""
    contexts: list[Any] = []
    begun = anyio.Event()

    @tool
    async def forever() -> None:
        """Sleep."""
        begun.set()
        await anyio.sleep(30)

    agent = scripted(
        batch(("forever", {}), ("word", {"value": "a"}), ("alone", {}), ("word", {"value": "b"})),
        tools=[forever, word, tool(_alone, name="alone", parallel=False)],
        instructions=noting(contexts),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Runner.run, agent, "go")
        await begun.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    entries = contexts[0].entries
    (_, interrupted), (_, finished) = results(entries)
    assert "interrupted" in interrupted
    assert finished == "a"
    validate_view(entries)


async def test_a_run_inside_a_tool_that_is_cancelled_alone_is_an_error_result() -> None:
    """A RunCancelled of somebody else's run does not end this one."""

    @tool
    def inner() -> None:
        """Fail."""
        raise RunCancelled("other run")

    agent = scripted(call("inner"), text("ok"), tools=[inner])
    assert (await output_of(agent)).is_error
    assert len(provider_of(agent).requests) == 2
