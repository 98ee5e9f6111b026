"""A provider of the user's own: what it is given, and what becomes of each delta."""

from __future__ import annotations

import asyncio
from typing import Any

from lovia import Agent, ModelSettings, Runner, Usage, events, tool
from lovia.context import NoopContextPolicy
from lovia.transcript import (
    AssistantTextEntry,
    EntryCompletedDelta,
    FinishDelta,
    InputEntry,
    ReasoningDelta,
    ReasoningEntry,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)


class Parrot:
    """Asks for one tool in pieces, and repeats what the tool said."""

    name = "parrot"
    model: str | None = "ara-1"
    supports_json_schema = False

    async def stream(
        self,
        entries: list[Any],
        *,
        tools: Any = None,
        response_format: Any = None,
        settings: ModelSettings | None = None,
    ) -> Any:
        """Answer."""
        assert settings is not None
        kinds = [type(entry).__name__ for entry in entries]
        names = [item["function"]["name"] for item in tools or []]
        print("sent", kinds, names, response_format, settings.temperature, settings.max_tokens)
        if kinds[-1] != "ToolResultEntry":
            thought = ReasoningEntry("Ask first.", provider="parrot", metadata={"signature": "s1"})
            yield ReasoningDelta("Ask first.")
            yield EntryCompletedDelta(thought)
            yield ToolCallDelta(index=0, call_id="c1", name="hear", arguments='{"wo')
            yield ToolCallDelta(index=1, call_id="c2", name="hear", arguments='{"word": "b"}')
            yield ToolCallDelta(index=0, arguments='rd": "a"}')
            yield UsageDelta(Usage(input_tokens=100, output_tokens=10, cache_read_tokens=60))
            yield FinishDelta("tool_calls")
            return
        kept = next(entry for entry in entries if isinstance(entry, ReasoningEntry))
        yield TextDelta("a and b, ")
        yield TextDelta(kept.metadata["signature"])
        yield EntryCompletedDelta(AssistantTextEntry("a and b, s1", id="m1"))
        yield UsageDelta(Usage(input_tokens=130, output_tokens=5, cache_read_tokens=100))
        yield FinishDelta("stop")


@tool
def hear(word: str) -> str:
    """Hear a word."""
    return word.upper()


async def main() -> None:
    """Run it and look at everything that came of it."""
    settings = ModelSettings(temperature=0.2, max_tokens=800)
    agent = Agent(
        name="a",
        instructions="Listen.",
        model=Parrot(),
        tools=[hear],
        settings=settings,
        context_policy=NoopContextPolicy(),
    )
    print(agent.resolve_provider().name)
    shown = ""
    async for event in Runner.stream(agent, [InputEntry(role="user", content="Say it.")]):
        if isinstance(event, events.TextDelta):
            shown += event.delta
        elif isinstance(event, events.RunCompleted):
            result = event.result
            print(repr(shown), result.output, result.finish_reason, result.last_input_tokens)
            usage = result.usage
            print(
                usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.total_tokens
            )
            calls = [e.arguments for e in result.entries if hasattr(e, "arguments")]
            print(calls, [e.id for e in result.entries if isinstance(e, AssistantTextEntry)])


asyncio.run(main())
