"""Agents of the 0.9 line whose conversation outgrows its window, with scripted models."""

from __future__ import annotations

from typing import Any

from lovia import (
    Agent,
    CheckpointOptions,
    Compaction,
    InMemoryCheckpointer,
    InMemoryResultStore,
    tool,
)
from lovia.context import LLMSummarizer
from lovia.testing import ScriptedProvider, batch, call, text

SECTIONS = "Session intent,Current state,Key facts & decisions,Artifacts,Constraints & preferences,"
SUMMARY = "\n".join(f"## {title}\nx" for title in f"{SECTIONS}Next steps".split(","))


@tool
async def look(q: str) -> str:
    """Look something up."""
    return q * 5000


def policy(summary: str = SUMMARY, **changes: Any) -> Any:
    """Make a policy that compacts in the third turn, by its stages and a model's summary."""
    plain = {
        "context_window": 12_000,
        "compact_at": 2000,
        "compact_to": 1000,
        "keep_recent_tokens": 500,
        "store": InMemoryResultStore(),
        "summarizer": LLMSummarizer(ScriptedProvider([text(summary)])),
    }
    return Compaction(**{**plain, **changes})


def handing_over(context_policy: Any | None = None, **changes: Any) -> Any:
    """Make an agent that looks three things up, compacts, and hands over to another one."""
    script = [
        batch(("look", {"q": "1"}), ("look", {"q": "2"})),
        call("look", {"q": "3"}),
        call("transfer_to_b", {}),
    ]
    last = Agent(name="b", model=ScriptedProvider([text("end")]), hooks=changes.get("hooks"))
    return Agent(
        name="a",
        model=ScriptedProvider(script),
        tools=[look],
        handoffs=[last],
        context_policy=context_policy or policy(),
        **changes,
    )


def checkpointed(run_id: str = "r1", store: Any | None = None) -> Any:
    """Save the run in memory."""
    return CheckpointOptions(checkpointer=store or InMemoryCheckpointer(), run_id=run_id)
