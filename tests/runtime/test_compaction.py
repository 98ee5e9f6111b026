"""A run with the default policy outgrows its window and goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import Agent, CompactingContextPolicy, Runner, events, tool
from lovia.context.stages import AutoSummaryStage
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript.validation import validate_view
from lovia_otel import names
from tests.runtime.support import events_of

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio
SUMMARY = "## Goal\nRead.\n\n## State\nRead some.\n\n## Planned\nRead on."


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "a line of text that says something new. " * 40


def reading(pages: int, window: int, **settings: Any) -> tuple[Agent[Any], ScriptedProvider]:
    """Return an agent that reads pages, more than its model's window can hold."""
    provider = ScriptedProvider(
        [*(call("read", {"page": i}, call_id=f"c{i}") for i in range(pages)), text("done")],
        window=window,
        usage="counted",
        summarize=SUMMARY,
    )
    settings.setdefault("keep_recent_entries", 4)
    return Agent(
        "reader",
        model=provider,
        tools=[read],
        instructions="Read all pages.",
        context_policy=CompactingContextPolicy(**settings),
    ), provider


async def test_a_run_outgrows_its_window() -> None:
    """Every request fits, each view is valid, and the transcript keeps everything."""
    agent, provider = reading(24, 3_000)
    seen = await events_of(Runner.stream(agent, "read all"))
    assert isinstance(seen[-1], events.RunCompleted)
    result = seen[-1].result
    assert len(result.entries) == 2 + 2 * 24
    assert all(request.tokens <= 3_000 for request in provider.requests)
    for request in provider.requests:
        if not request.is_summary:
            validate_view(request.entries)
    compacted = [event for event in seen if isinstance(event, events.ContextCompacted)]
    started = [event for event in seen if isinstance(event, events.CompactionStarted)]
    assert 0 < len(compacted) <= len(started)
    assert all(event.freed and event.freed > 0 for event in compacted)


async def test_summaries_are_paid_for_by_the_run() -> None:
    """What summaries spent is in the total, apart from the turns; the total is all of it."""
    agent, provider = reading(24, 3_000, max_entries=None, stages=[AutoSummaryStage(keep_recent=4)])
    result = await Runner.run(agent, "read all")
    asked = [request for request in provider.requests if request.is_summary]
    assert asked
    assert result.usage.summary.input_tokens == sum(request.tokens for request in asked)
    assert result.usage.input_tokens == sum(request.tokens for request in provider.requests)


async def test_a_refusal_teaches_the_window(telemetry: Telemetry) -> None:
    """A policy that takes the window for larger is refused once, learns, and not refused again."""
    agent, provider = reading(30, 3_000, context_window_tokens=100_000, max_entries=None)
    seen = await events_of(Runner.stream(agent, "read all"))
    assert isinstance(seen[-1], events.RunCompleted)
    assert len([request for request in provider.requests if request.tokens > 3_000]) == 1
    reactive = [e for e in seen if isinstance(e, events.ContextCompacted) and e.reactive]
    assert len(reactive) == 1
    assert telemetry.attributes("invoke_agent reader")[names.RUN_COMPACTIONS] == len(
        [event for event in seen if isinstance(event, events.ContextCompacted)]
    )
    assert "compact_context" in telemetry.spans


async def test_the_provider_s_count_of_a_compacted_view_is_told(telemetry: Telemetry) -> None:
    """After each pass the next call's prompt tokens are told beside the estimate, by pass."""
    agent, provider = reading(24, 3_000)
    seen = await events_of(Runner.stream(agent, "read all"))
    passes = [event for event in seen if isinstance(event, events.ContextCompacted)]
    measured = [
        dict(log.log_record.attributes or {})
        for log in telemetry.logged.get_finished_logs()
        if log.log_record.event_name == names.EVENT_CONTEXT_MEASURED
    ]
    assert [told[names.COMPACTION_ID] for told in measured] == [event.pass_id for event in passes]
    counts = {request.tokens for request in provider.requests}
    assert {told[names.COMPACTION_TOKENS_MEASURED] for told in measured} <= counts
