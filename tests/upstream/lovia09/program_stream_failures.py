"""However a run fails, its stream ends with one event that says so, and never raises."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, ProviderError, RetryPolicy, Runner, UserError, events
from lovia.testing import ScriptedProvider, text
from lovia.transcript import FinishDelta


class Refusing:
    """A provider that refuses everything."""

    name = "refusing"
    model: str | None = None
    supports_json_schema = False

    async def stream(self, entries: Any, **options: Any) -> Any:
        """Refuse before the first delta."""
        if entries:
            raise ProviderError(
                "no credit left", vendor="refusing", status_code=402, retryable=False
            )
        yield FinishDelta("stop")


def broken_instructions(ctx: Any) -> str:
    """Fail before the first turn."""
    raise ZeroDivisionError("in the instructions")


async def watch(agent: Agent) -> None:
    """Print the end of a stream, and what its result raises."""
    handle = Runner.stream(agent, "hello")
    seen = [event async for event in handle]
    ends = [e for e in seen if isinstance(e, (events.RunCompleted, events.RunFailed))]
    assert ends == seen[-1:]
    last = ends[0]
    assert isinstance(last, events.RunFailed)
    print(type(last.error).__name__, end=" ")
    (raised,) = await asyncio.gather(handle.result(), return_exceptions=True)
    print("raised by result():", raised is last.error)


async def main() -> None:
    """Fail in the model, in the set-up and by configuration."""
    await watch(Agent(name="a", model=Refusing(), retry=RetryPolicy(max_attempts=1)))
    await watch(
        Agent(name="b", model=ScriptedProvider([text("x")]), instructions=broken_instructions)
    )
    await watch(Agent(name="c", model=None))
    try:
        await Runner.run(Agent(name="d", model=Refusing()), "hello")
    except ProviderError as error:
        print(error.status_code, error.retryable, error.vendor)
    try:
        await Runner.run(Agent(name="e"), "hello")
    except UserError as error:
        print("hint:", bool(error.hint))


asyncio.run(main())
