"""The handle: structured and bare streams, leaving early, and the stop button."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from opentelemetry import trace

from lovia import CancelToken, RunCancelled, Runner, UserError, events, tool
from lovia.testing import batch, call, text
from tests.runtime.support import events_of, kinds, provider_of, scripted

if TYPE_CHECKING:
    from lovia import RunHandle
    from lovia.events import Event
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

only_asyncio = pytest.mark.parametrize(
    "anyio_backend", [pytest.param(("asyncio", {"debug": True}), id="asyncio")]
)
only_trio = pytest.mark.parametrize("anyio_backend", [pytest.param(("trio", {}), id="trio")])


class Sleeper:
    """A tool that sleeps until it is stopped, and knows how it ended."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.stopped = False

    async def sleep(self) -> str:
        """Sleep."""
        self.begun.set()
        try:
            await anyio.sleep(30)
        except BaseException:
            self.stopped = True
            raise
        return "rested"


async def test_the_block_gives_events_and_the_result() -> None:
    """Inside the block one reads events, then the result; after it, the result again."""
    async with Runner.stream(scripted(text("ok")), "go") as handle:
        seen = [event async for event in handle]
        result = await handle.result()
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result is result
    assert await handle.result() is result
    assert [event async for event in handle] == []


async def test_a_handle_can_be_awaited() -> None:
    """Awaiting the handle is awaiting its result."""
    assert (await Runner.stream(scripted(text("ok")), "go")).output == "ok"


async def test_the_result_does_not_need_a_reader() -> None:
    """Asking for the result drops what nobody reads, also after some events were read."""
    async with Runner.stream(scripted(text("a b c")), "go") as handle:
        async for _event in handle:
            break
        assert (await handle.result()).output == "a b c"


async def test_the_result_can_be_asked_for_between_two_events() -> None:
    """A reader that awaits the result inside its loop is not waited for in turn."""
    async with Runner.stream(scripted(text("a b c")), "go") as handle:
        seen = []
        async for event in handle:
            seen.append(event)
            await handle.result()
    assert kinds(seen) == ["RunStarted", "RunCompleted"]


async def test_another_task_may_wait_for_the_result() -> None:
    """Whoever waits for the result beside a reader takes no event away from it."""
    outputs: list[str] = []

    async def wait(handle: RunHandle) -> None:
        outputs.append((await handle.result()).output)

    async with Runner.stream(scripted(text("a b c")), "go") as handle:
        iterator = aiter(handle)
        seen = [await anext(iterator)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, handle)
            await anyio.wait_all_tasks_blocked()
            seen += [event async for event in iterator]
    assert kinds(seen).count("TextDelta") == 3
    assert outputs == ["a b c"]


@pytest.mark.parametrize("error", [None, KeyError("mine")])
async def test_leaving_the_block_stops_the_run(error: Exception | None) -> None:
    """When the block ends, the run has stopped, its tools too; the block's own error stays bare."""
    sleeper = Sleeper()
    agent = scripted(call("sleep"), text("ok"), tools=[tool(sleeper.sleep)])
    handle = Runner.stream(agent, "go")

    async def use() -> None:
        async with handle:
            await read_until(handle, sleeper.begun)
            if error is not None:
                raise error

    if error is None:
        await use()
    else:
        with pytest.raises(KeyError, match="mine"):
            await use()
    assert sleeper.stopped
    with pytest.raises(RunCancelled) as caught:
        await handle.result()
    assert caught.value.reason == "user"


async def test_a_cancelled_scope_around_the_block_stops_the_run() -> None:
    """Native cancellation reaches a tool at once and goes on as what it is."""
    sleeper = Sleeper()
    agent = scripted(call("sleep"), text("ok"), tools=[tool(sleeper.sleep)])
    handle = Runner.stream(agent, "go")
    with anyio.CancelScope() as scope:
        async with handle:
            await read_until(handle, sleeper.begun)
            scope.cancel()
            await anyio.sleep(30)
    assert scope.cancelled_caught
    assert sleeper.stopped
    with pytest.raises(RunCancelled) as caught:
        await handle.result()
    assert caught.value.reason == "parent"


async def test_a_cancelled_wait_for_the_result_stops_the_run() -> None:
    """`Runner.run` that is cancelled from outside leaves nothing running."""
    sleeper = Sleeper()
    agent = scripted(call("sleep"), text("ok"), tools=[tool(sleeper.sleep)])
    with anyio.move_on_after(30) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Runner.run, agent, "go")
            await sleeper.begun.wait()
            tasks.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert sleeper.stopped


async def test_cancel_interrupts_a_model_that_is_waited_for() -> None:
    """The stop button ends the wait for a model at once; what it streamed is dropped."""

    async def never(_request: Any) -> Any:
        await anyio.sleep(30)

    agent = scripted(call("look"), never, tools=[tool(look)])
    with anyio.fail_after(10):
        async with Runner.stream(agent, "go") as handle, anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 0)
            seen = []
            async for event in handle:
                seen.append(event)
                if isinstance(event, events.TurnStarted) and event.turn == 2:
                    tasks.start_soon(cancel_when_blocked, handle)
    failed = seen[-1]
    assert isinstance(failed, events.RunFailed)
    assert isinstance(failed.error, RunCancelled)
    assert failed.error.reason == "timeout"
    assert failed.error.cancellation_checkpoint == "model_stream"


async def test_cancel_before_the_start_ends_at_the_first_safe_point() -> None:
    """A run that was cancelled before it began asks no model."""
    token = CancelToken()
    token.cancel("shutdown")
    agent = scripted(text("ok"))
    seen = await events_of(Runner.stream(agent, "go", cancel_token=token))
    assert kinds(seen) == ["RunStarted", "RunFailed"]
    assert provider_of(agent).requests == []


async def test_what_a_reader_does_happens_before_the_run_goes_on() -> None:
    """A stop that is asked for on an event is seen before the model is called."""
    agent = scripted(text("ok"))

    def stop(event: Event) -> None:
        if isinstance(event, events.TurnStarted):
            handle.cancel()

    handle = Runner.stream(agent, "go")
    seen = await events_of(handle, stop)
    assert kinds(seen) == ["RunStarted", "TurnStarted", "RunFailed"]
    assert provider_of(agent).requests == []


async def test_events_of_a_tool_arrive_while_another_runs() -> None:
    """A fast tool's events are read while a slow one is still running."""
    gate = anyio.Event()

    @tool
    async def slow() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "slow"

    @tool
    async def fast() -> str:
        """Return at once."""
        return "fast"

    def open_gate(event: Event) -> None:
        if isinstance(event, events.ToolCallCompleted) and event.call.name == "fast":
            gate.set()

    agent = scripted(batch(("slow", {}), ("fast", {})), text("ok"), tools=[slow, fast])
    with anyio.fail_after(10):
        seen = await events_of(Runner.stream(agent, "go"), open_gate)
    done = [event.call.name for event in seen if isinstance(event, events.ToolCallCompleted)]
    assert done == ["fast", "slow"]


@only_asyncio
async def test_a_bare_stream_works_on_asyncio() -> None:
    """Without a block the stream is read the same way."""
    handle = Runner.stream(scripted(text("ok")), "go")
    seen = [event async for event in handle]
    assert kinds(seen)[0] == "RunStarted"
    assert (await handle.result()).output == "ok"


@only_asyncio
@pytest.mark.parametrize("error", [None, KeyError("mine")])
async def test_leaving_a_bare_stream_stops_the_run(error: Exception | None) -> None:
    """A loop without a block that is left early stops the run, which result() then says."""
    agent = scripted(text("a b c"), text("never"))
    handle = Runner.stream(agent, "go")

    async def use() -> None:
        async for event in handle:
            if isinstance(event, events.TextDelta):
                if error is not None:
                    raise error
                break

    if error is None:
        await use()
    else:
        with pytest.raises(KeyError, match="mine"):
            await use()
        gc.collect()
    with anyio.fail_after(10), pytest.raises(RunCancelled):
        await handle.result()


@only_asyncio
async def test_cancelling_the_reader_of_a_bare_stream_stops_the_run() -> None:
    """A cancelled task that was reading without a block leaves no run behind."""
    sleeper = Sleeper()
    agent = scripted(call("sleep"), text("ok"), tools=[tool(sleeper.sleep)])
    handle = Runner.stream(agent, "go")
    with anyio.fail_after(10):
        await read_until(handle, sleeper.begun)
        with pytest.raises(RunCancelled):
            await handle.result()
    assert sleeper.stopped


@only_trio
async def test_a_bare_stream_on_trio_says_what_to_write() -> None:
    """Trio has no tasks without a scope; the error shows the structured form."""
    with pytest.raises(UserError, match=r"async with Runner\.stream"):
        async for _event in Runner.stream(scripted(text("ok")), "go"):
            pass


async def test_a_handle_is_entered_once() -> None:
    """A run that has begun cannot be entered again."""
    handle = Runner.stream(scripted(text("ok")), "go")
    async with handle:
        await handle.result()
    with pytest.raises(UserError, match="begun already"):
        async with handle:
            pass


async def test_no_span_is_current_where_events_are_read(telemetry: Telemetry) -> None:
    """The reader's code runs in the reader's own trace context, at every event."""
    tracer = telemetry.tracer_provider.get_tracer("mine")
    with tracer.start_as_current_span("mine") as mine:
        async with Runner.stream(scripted(text("ok")), "go") as handle:
            async for _event in handle:
                assert trace.get_current_span() is mine
    run = telemetry.spans["invoke_agent bot"]
    assert run.parent is not None
    assert run.parent.span_id == mine.get_span_context().span_id


def look() -> str:
    """Look."""
    return "seen"


async def cancel_when_blocked(handle: RunHandle) -> None:
    """Cancel the run when everything in it waits."""
    await anyio.wait_all_tasks_blocked()
    handle.cancel("timeout")


async def read_until(handle: RunHandle, happened: anyio.Event) -> None:
    """Read events until something else has happened, and then stop reading."""

    async def read() -> None:
        async for _event in handle:
            pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await happened.wait()
        tasks.cancel_scope.cancel()
