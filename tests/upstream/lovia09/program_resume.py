"""A run that breaks off goes on where it was, in the hands of the agent that had it."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import (
    Agent,
    CheckpointOptions,
    InMemoryCheckpointer,
    InMemorySession,
    MaxTurnsExceeded,
    ProviderError,
    RetryPolicy,
    Runner,
    tool,
)
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import FinishDelta

made: list[str] = []


@tool
def step(name: str) -> str:
    """Do one step."""
    made.append(name)
    return f"{name} done"


class Down:
    """A provider that does not answer."""

    name = "down"
    model: str | None = None
    supports_json_schema = False

    async def stream(self, entries: Any, **options: Any) -> Any:
        """Fail before the first delta."""
        if entries:
            raise ProviderError("down", retryable=False)
        yield FinishDelta("stop")


async def main() -> None:
    """Break off at a limit, after a handoff, and go on from a snapshot."""
    store, session = InMemoryCheckpointer(), InMemorySession()
    where: dict[str, Any] = {
        "checkpoint": CheckpointOptions(store, "r1"),
        "session": session,
        "session_id": "s1",
    }
    script = [call("step", {"name": "one"}), call("step", {"name": "two"})]
    agent = Agent(name="worker", model=ScriptedProvider(script), tools=[step])
    try:
        await Runner.run(agent, "Work.", max_turns=2, **where)
    except MaxTurnsExceeded:
        saved = await store.load("r1")
        assert saved is not None
        print("saved:", saved.turns, len(saved.entries), made, len(await session.load("s1")))

    last = ScriptedProvider([text("All done.")])
    result = await Runner.run(agent.clone(model=last), "Ignored.", max_turns=9, **where)
    print(result.output, result.turns, result.usage.total_tokens, made)
    print("the model saw", [message.content for message in last.calls[0]])
    print("conversation:", len(await session.load("s1")), (await session.segments("s1"))[0].run_id)

    down = Agent(name="down", model=Down(), retry=RetryPolicy(max_attempts=1))
    router = Agent(
        name="router", model=ScriptedProvider([call("transfer_to_down", {})]), handoffs=[down]
    )
    try:
        await Runner.run(router, "Route.", checkpoint=CheckpointOptions(store, "r2"))
    except ProviderError as error:
        print("broke off:", error)
    saved = await store.load("r2")
    assert saved is not None
    print("in the hands of", saved.agent_name)
    down.model = ScriptedProvider([text("Up again.")])
    result = await Runner.run(router, "Route.", checkpoint=CheckpointOptions(store, "r2"))
    print(result.output, result.final_agent.name, result.turns)

    # A snapshot can be gone on with by itself, wherever it was kept meanwhile.
    down.model = ScriptedProvider([text("From the snapshot.")])
    result = await Runner.run(router, "Route.", checkpoint=CheckpointOptions(resume_from=saved))
    print(result.output, result.final_agent.name)


asyncio.run(main())
