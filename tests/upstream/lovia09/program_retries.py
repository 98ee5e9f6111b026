"""Model calls that fail for a while: back-off, events, and partial output that is thrown away."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, ProviderError, RetryPolicy, Runner, events
from lovia.transcript import FinishDelta, TextDelta


class Shaky:
    """A provider that fails some times, before or while it streams, and then answers."""

    name = "shaky"
    model: str | None = None
    supports_json_schema = False

    def __init__(self, *failures: tuple[str, Exception]) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def stream(self, entries: Any, **options: Any) -> Any:
        """Stream what comes before the failure, or the answer."""
        self.calls += 1
        if self.failures:
            partial, error = self.failures.pop(0)
            if partial:
                yield TextDelta(partial)
            raise error
        yield TextDelta("the answer")
        yield FinishDelta("stop")


def busy(*, retryable: bool = True) -> ProviderError:
    """Make the error of a busy server."""
    return ProviderError("busy", vendor="shaky", status_code=503, retryable=retryable)


async def watch(provider: Shaky, **options: Any) -> None:
    """Print what a user of the stream sees."""
    waits: list[float] = []
    told: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    settings: dict[str, Any] = {"sleep": sleep, "max_attempts": 3, **options}
    agent = Agent(name="a", model=provider, retry=RetryPolicy(**settings))
    shown = ""
    async for event in Runner.stream(agent, "go"):
        if isinstance(event, events.TextDelta):
            shown += event.delta
        elif isinstance(event, events.OutputDiscarded):
            shown = ""
        elif isinstance(event, events.ModelRetrying):
            print(f"  attempt {event.attempt} of {event.max_attempts} failed: {event.error}")
            assert event.delay >= 0
            told.append(event.delay)
        elif isinstance(event, events.RunFailed):
            print("  gave up:", type(event.error).__name__)
    print(repr(shown), "calls:", provider.calls, "waits:", len(waits), waits == told)


async def main() -> None:
    """Fail once, twice, too often, half-way, and in ways that no retry helps."""
    await watch(Shaky(("", busy())))
    await watch(Shaky(("", busy()), ("", busy())))
    await watch(Shaky(*[("", busy())] * 3))
    await watch(Shaky(("half an an", busy())))
    await watch(Shaky(("half an an", busy())), restart_on_partial=False)
    await watch(Shaky(("", ValueError("a bug"))))
    await watch(Shaky(("", ValueError("a bug"))), retry_on=lambda error: True)
    await watch(Shaky(("", busy())), max_attempts=1)

    # A run may have a policy of its own.
    agent = Agent(name="a", model=Shaky(("", busy())), retry=RetryPolicy(max_attempts=1))
    result = await Runner.run(agent, "go", retry=RetryPolicy(max_attempts=2, backoff_base=0.001))
    print(result.output, result.finish_reason)


asyncio.run(main())
