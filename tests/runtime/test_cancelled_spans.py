"""What the spans that were open say of a run that was stopped while it waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from opentelemetry.trace import StatusCode

from lovia import (
    Agent,
    AssistantTextEntry,
    CancelToken,
    CompactingContextPolicy,
    InputEntry,
    LLMSummarizer,
    RunCancelled,
    RunContext,
    Runner,
    compact_session,
    tool,
)
from lovia.stores import InMemorySession
from lovia.testing import ScriptedProvider, batch, call, text
from lovia_otel import names
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from lovia import TranscriptEntry
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

HISTORY: list[TranscriptEntry] = [
    AssistantTextEntry("so " * 500) if number % 2 else InputEntry("user", "and " * 500)
    for number in range(41)
]


class Waits:
    """A place where a run waits for ever; `reached` tells that it is there `times` times."""

    name = "waiting"
    model = "waiting-1"

    def __init__(self, times: int = 1) -> None:
        self.reached = anyio.Event()
        self._left = times

    async def here(self) -> None:
        """Wait."""
        self._left -= 1
        if not self._left:
            self.reached.set()
        await anyio.sleep_forever()

    async def stream(self, entries: Any, **options: Any) -> AsyncIterator[Any]:
        """Wait as a provider."""
        await self.here()
        yield  # never reached

    async def summarize(self, entries: Any, **options: Any) -> str:
        """Wait as a summarizer."""
        await self.here()
        return ""

    async def save_transcript(self, entries: Any, *, ctx: Any, reason: str) -> Any:
        """Wait as an archive."""
        await self.here()

    async def save_tool_result(self, output: str, *, call_id: str, ctx: Any) -> Any:
        """Wait as an archive."""
        await self.here()

    async def load(self, ref: Any) -> Any:
        """Wait as an archive."""
        await self.here()


def compacting(**settings: Any) -> Agent[Any]:
    """Return an agent whose policy has to compact the history before the first answer."""
    policy = CompactingContextPolicy(context_window_tokens=8_000, max_entries=None, **settings)
    model = ScriptedProvider([text("ok")], summarize="## Goal\ntides")
    return Agent(name="bot", model=model, context_policy=policy)


@tool
async def wait(ctx: RunContext[Waits]) -> None:
    """Wait as a tool."""
    assert ctx.deps is not None
    await ctx.deps.here()


def with_agent(waits: Waits) -> Agent[Any]:
    """Return an agent that asks another one, whose model does not answer."""
    inner = scripted(name="inner", provider=waits)  # type: ignore[arg-type] # a provider all the same
    return scripted(call("ask_inner", {"input": "x"}), tools=[inner.as_tool()])


AGENTS: dict[str, tuple[int, Callable[[Any], Agent[Any]]]] = {
    "model": (1, lambda waits: Agent(name="bot", model=waits)),
    "tools": (2, lambda _: scripted(batch(("wait", {}), ("wait", {})), tools=[wait])),
    "agent as tool": (1, with_agent),
    "summary's model": (1, lambda waits: compacting(summarizer=LLMSummarizer(waits))),
    "summarizer": (1, lambda waits: compacting(summarizer=waits)),
    "archive": (1, lambda waits: compacting(archive=waits)),
}
CHECKPOINTS = {"model": "model_stream", "tools": "turn", "agent as tool": "turn"}


def stopped(telemetry: Telemetry) -> dict[str, dict[str, Any]]:
    """Return the attributes of all spans that ended with an error, by name."""
    spans = telemetry.exported.get_finished_spans()
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    return {f"{at}: {span.name}": dict(span.attributes or {}) for at, span in enumerate(failed)}


@pytest.mark.parametrize("place", AGENTS)
async def test_every_open_span_says_why_and_where(telemetry: Telemetry, place: str) -> None:
    """Those inside the wait that was interrupted too, which see the event loop's own error only."""
    times, agent_with = AGENTS[place]
    waits, token = Waits(times), CancelToken()
    agent = agent_with(waits)
    with pytest.raises(RunCancelled) as caught:  # noqa: PT012 - the stop comes from beside the run
        async with Runner.stream(agent, HISTORY, cancel_token=token, deps=waits) as handle:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_at, waits, token)
                async for _ in handle:
                    pass
            await handle.result()
    spans = stopped(telemetry)
    assert len(spans) >= 3
    assert {span[names.CANCELLATION_REASON] for span in spans.values()} == {"shutdown"}
    checkpoint = CHECKPOINTS.get(place, "pass")
    assert caught.value.cancellation_checkpoint == checkpoint
    assert {span[names.CANCELLATION_CHECKPOINT] for span in spans.values()} == {checkpoint}


async def stop_at(waits: Waits, token: CancelToken) -> None:
    """Ask for a stop as soon as the run is there."""
    await waits.reached.wait()
    token.cancel("shutdown")


@pytest.mark.parametrize("place", ["model", "agent as tool", "summary's model"])
async def test_a_run_whose_task_is_cancelled_was_cancelled_by_its_parent(
    telemetry: Telemetry, place: str
) -> None:
    """Nobody asked the run to stop: whoever holds the scope around it ended it."""
    times, agent_with = AGENTS[place]
    waits = Waits(times)
    agent = agent_with(waits)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Runner.run, agent, HISTORY)
        await waits.reached.wait()
        tasks.cancel_scope.cancel()
    spans = stopped(telemetry)
    assert len(spans) >= 3
    assert {span[names.CANCELLATION_REASON] for span in spans.values()} == {"parent"}


async def test_compacting_an_idle_session_says_so_as_well(telemetry: Telemetry) -> None:
    """There is no run, and its spans tell all the same."""
    waits, session = Waits(), InMemorySession()
    await session.append("s", HISTORY, run_id="r")
    agent = compacting(summarizer=waits)

    async def compact() -> None:
        await compact_session(session, "s", agent=agent)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compact)
        await waits.reached.wait()
        tasks.cancel_scope.cancel()
    spans = stopped(telemetry)
    assert len(spans) >= 3
    assert {span[names.CANCELLATION_REASON] for span in spans.values()} == {"parent"}
