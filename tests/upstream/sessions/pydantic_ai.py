"""One session in Pydantic AI: a history processor, then the harness's tiers with a summary."""

from __future__ import annotations

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage  # noqa: TC002 - Pydantic AI reads the annotation
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SummarizingCompaction,
    TieredCompaction,
)

from lovia_otel import configure, observe
from tests.upstream.pydantic_ai.scripted import Script, talk, tool_turns


async def newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Send the newest twenty messages."""
    return messages[-20:]


async def main() -> None:
    """Run two agents on a long history."""
    history = [*tool_turns(4, 200), *talk(20)]
    capability = ProcessHistory(observe(newest))
    trimming = Agent(Script("fine").model(), name="trimmer", capabilities=[capability])
    await trimming.run("and now?", message_history=list(history))
    tiers = [
        ClearToolResults(max_tokens=1, keep_pairs=1),
        SummarizingCompaction(
            model=Script("The user looked things up and talked at length.").model(),
            max_messages=1,
            keep_messages=4,
        ),
    ]
    capability = observe(TieredCompaction(tiers=tiers, target_tokens=300))
    helper = Agent(Script("fine").model(), name="helper", capabilities=[capability])
    await helper.run("and now?", message_history=list(history))


with configure(file=sys.argv[1], service_name="pydantic-ai-app"):
    asyncio.run(main())
