"""A policy of the 0.9 line can be observed alone, and its events bridged alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import AgentHooks, Compaction, Runner
from lovia_otel import EventBridge, names, observe
from lovia_otel.instrumentor import LoviaInstrumentor
from tests.upstream.lovia_09.agents import handing_over, policy
from tests.upstream.trees import all_facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

PASSES = [
    "compact_context",
    "  compact_context.stage offload",
    "  compact_context.stage clear",
    "  compact_context.stage summary",
    "compact_context",
    "  compact_context.stage offload",
    "  compact_context.stage clear",
    "  compact_context.stage summary",
    "    fold_chunk",
]


async def test_an_observed_policy_makes_passes_alone(telemetry: Telemetry) -> None:
    """Passes, stages and folds are recorded without anything else being instrumented."""
    observed = observe(policy())
    assert isinstance(observed, Compaction)
    assert observed.context_window == 12_000
    result = await Runner.run(handing_over(observed), "go")
    assert result.output == "end"
    assert tree(telemetry) == PASSES
    useful = all_facts(telemetry, "compact_context")[-1]
    assert useful[names.COMPACTION_OUTCOME] == "compacted"
    assert useful[names.COMPACTION_TOKENS_FREED] > 0


async def test_observing_under_the_instrumentor_records_once(telemetry: Telemetry) -> None:
    """A policy that is observed in both ways makes each pass once."""
    LoviaInstrumentor().instrument()
    try:
        await Runner.run(handing_over(observe(policy())), "go")
    finally:
        LoviaInstrumentor().uninstrument()
    spans = [span.name for span in telemetry.exported.get_finished_spans()]
    assert spans.count("compact_context") == 2
    assert spans.count("fold_chunk") == 1


async def _bridged(telemetry: Telemetry) -> list[dict[str, Any]]:
    hooks, bridge = AgentHooks(), EventBridge()
    hooks.on_any(bridge)
    await Runner.run(handing_over(hooks=hooks), "go", session_id="s1")
    assert bridge.close()
    told = [log.log_record for log in telemetry.logged.get_finished_logs()]
    return [
        dict(record.attributes or {})
        for record in told
        if record.event_name == names.EVENT_CONTEXT_COMPACTED
        and (record.attributes or {})[names.COMPACTION_OUTCOME] == "compacted"
    ]


async def test_its_events_can_be_bridged_alone(telemetry: Telemetry) -> None:
    """Without any instrumentation the bridge tells of compactions and handoffs, with numbers."""
    (told,) = await _bridged(telemetry)
    assert (
        told.items()
        >= {
            names.AGENT_NAME: "a",
            names.CONVERSATION_ID: "s1",
            names.COMPACTION_REASON: "offload+summary",
            names.COMPACTION_OUTCOME: "compacted",
        }.items()
    )
    assert told[names.COMPACTION_TOKENS_FREED] > 0
    assert names.SUMMARY_TEXT not in told
    assert telemetry.total(names.METRIC_HANDOFFS) == 1
    assert telemetry.exported.get_finished_spans() == ()


async def test_a_bridge_beside_the_instrumentor_adds_nothing(telemetry: Telemetry) -> None:
    """What the scopes have told, the bridge does not tell again."""
    LoviaInstrumentor().instrument()
    try:
        told = await _bridged(telemetry)
    finally:
        LoviaInstrumentor().uninstrument()
    assert len(told) == 1
    assert telemetry.total(names.METRIC_HANDOFFS) == 1
