"""One session of lovia itself, which records without being observed."""

from __future__ import annotations

import sys

from lovia import Agent, CompactingContextPolicy, InMemorySession, LLMSummarizer, Runner, tool
from lovia.testing import ScriptedProvider, call, text
from lovia_otel import configure


@tool
async def look(q: str) -> str:
    """Look something up."""
    return f"{q} " * 900


summarizer = LLMSummarizer(ScriptedProvider([text("The user looked things up.")] * 9))
agent = Agent(
    name="helper",
    model=ScriptedProvider([call("look", {"q": str(n)}) for n in range(4)] + [text("fine")]),
    tools=[look],
    context_policy=CompactingContextPolicy(
        context_window_tokens=4_000, keep_recent_entries=4, summarizer=summarizer
    ),
)
with configure(file=sys.argv[1], service_name="lovia-app"):
    Runner.run_sync(agent, "look", session=InMemorySession(), session_id="session-1")
