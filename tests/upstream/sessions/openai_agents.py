"""One session in the OpenAI Agents SDK: its items are compacted, and its input is filtered."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agents import RunConfig, Runner, SQLiteSession
from agents.memory import OpenAIResponsesCompactionSession
from agents.run import CallModelData, ModelInputData

from lovia_otel import configure, observe
from tests.upstream.openai_agents.scripted import Script, talk


def newest(data: CallModelData[Any]) -> ModelInputData:
    """Send the newest twenty items."""
    held = data.model_data
    return ModelInputData(input=held.input[-20:], instructions=held.instructions)


async def main() -> None:
    """Run one turn of a long session."""
    script = Script("fine", compactions=["opaque " * 20])
    session = observe(
        OpenAIResponsesCompactionSession(
            "session-1", SQLiteSession("session-1"), client=script.client()
        )
    )
    await session.add_items(talk(20))
    config = RunConfig(call_model_input_filter=observe(newest, window_tokens=8_000))
    await Runner.run(script.agent(), "and now?", session=session, run_config=config)


with configure(file=sys.argv[1], service_name="openai-agents-app"):
    asyncio.run(main())
