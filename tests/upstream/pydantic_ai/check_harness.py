"""`observe` on the compaction capabilities of the Pydantic AI harness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent

from lovia_otel import names, observe
from tests.upstream.pydantic_ai.scripted import USAGE, Script, talk, tool_turns
from tests.upstream.trees import facts, tree

compaction = pytest.importorskip("pydantic_ai_harness.compaction")

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.otel.conftest import Telemetry

TALK = talk(6)
SEARCHES = tool_turns(6, 200)


def stage(strategy: str) -> str:
    """Return the name of a strategy's stage."""
    return f"{names.SPAN_STAGE} {strategy}"


async def run(capability: Any, *answers: Any, history: Any = TALK) -> list[list[str]]:
    """Run an agent on a history, and return the texts of each request that its model got."""
    script = Script(*answers)
    helper = Agent(script.model(), name="helper", capabilities=[capability])
    await helper.run("now", message_history=list(history))
    return script.requests


def summarizing(**options: Any) -> Any:
    """Return the capability that summarises from five messages on and keeps two."""
    return compaction.SummarizingCompaction(max_messages=5, keep_messages=2, **options)


def tiered(summarizer: Any = None) -> Any:
    """Return tiers: results are cleared, and if that does not do, there is a summary."""
    tiers = [compaction.ClearToolResults(max_tokens=1, keep_pairs=1)]
    if summarizer is not None:
        tiers.append(summarizer)
    return compaction.TieredCompaction(tiers=tiers, target_tokens=100)


SIMPLE: dict[str, Callable[[], Any]] = {
    "SlidingWindowCompaction": lambda: compaction.SlidingWindowCompaction(
        max_messages=5, keep_messages=3
    ),
    "ClearToolResults": lambda: compaction.ClearToolResults(max_messages=5, keep_pairs=1),
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", SIMPLE)
async def test_a_strategy_is_a_pass_with_a_stage(telemetry: Telemetry, name: str) -> None:
    """The model gets the same request, and the trace has what the strategy did."""
    plain = await run(SIMPLE[name](), "fine", history=SEARCHES)
    assert await run(observe(SIMPLE[name]()), "fine", history=SEARCHES) == plain
    assert tree(telemetry) == [names.SPAN_PASS, f"  {stage(name)}"]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_ENTRIES
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert facts(telemetry, stage(name))[names.COMPACTION_OUTCOME] == names.APPLIED


@pytest.mark.anyio
@pytest.mark.parametrize("own", [False, True], ids=["the run's model", "its own model"])
async def test_a_summary_has_a_fold_and_a_call(telemetry: Telemetry, own: bool) -> None:
    """Written by the run's model or by another, the call is below the fold, and counted once."""
    seen = []
    for wrap in (lambda same: same, observe):
        apart = Script("the gist")
        options = {"model": apart.model()} if own else {}
        answers = ["fine"] if own else ["the gist", "fine"]
        seen.append((await run(wrap(summarizing(**options)), *answers), apart.requests))
    assert seen[0] == seen[1]
    assert tree(telemetry) == [
        names.SPAN_PASS,
        f"  {stage('SummarizingCompaction')}",
        f"    {names.SPAN_FOLD}",
        f"      {names.SPAN_CHAT} acme-1",
    ]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_SUMMARY_CALLS] == 1
    assert about[names.COMPACTION_SUMMARY_INPUT_TOKENS] == USAGE.input_tokens
    assert facts(telemetry, names.SPAN_FOLD)[names.CHUNK_SUMMARY_TOKENS] > 0


@pytest.mark.anyio
async def test_tiers_are_stages_in_their_order(telemetry: Telemetry) -> None:
    """Cheap first; the summary's fold is below its own tier."""
    answers = ["the gist", "fine"]
    plain = await run(tiered(summarizing()), *answers, history=[*SEARCHES, *TALK])
    observed = observe(tiered(summarizing()))
    assert await run(observed, *answers, history=[*SEARCHES, *TALK]) == plain
    assert tree(telemetry)[:4] == [
        names.SPAN_PASS,
        f"  {stage('ClearToolResults')}",
        f"  {stage('SummarizingCompaction')}",
        f"    {names.SPAN_FOLD}",
    ]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_STAGES] == ("ClearToolResults", "SummarizingCompaction")
    assert about[names.COMPACTION_TOKENS_TARGET] == 100
    assert [type(tier).__name__ for tier in observed.tiers] == list(about[names.COMPACTION_STAGES])


@pytest.mark.anyio
async def test_tiers_stop_when_it_is_enough(telemetry: Telemetry) -> None:
    """A tier that was not needed is not told of."""
    await run(observe(tiered(summarizing())), "fine", history=tool_turns(6, 10))
    assert f"  {stage('SummarizingCompaction')}" not in tree(telemetry)


@pytest.mark.anyio
async def test_a_fallback_tells_the_strategy_that_failed(telemetry: Telemetry) -> None:
    """A stage that failed and one that did the work; the pass is compacted."""
    from pydantic_ai.exceptions import ModelAPIError

    script = Script(ModelAPIError("acme-1", "no"), ModelAPIError("acme-1", "no"))
    chain = [summarizing(model=script.model()), SIMPLE["SlidingWindowCompaction"]()]
    fallback = compaction.FallbackCompaction(chain, max_tokens=10)
    await run(observe(fallback), "fine")
    failed = facts(telemetry, stage("SummarizingCompaction"))
    assert failed[names.COMPACTION_OUTCOME] == names.FAILED
    assert facts(telemetry, stage("SlidingWindowCompaction"))[names.COMPACTION_OUTCOME] == (
        names.APPLIED
    )
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.COMPACTED


@pytest.mark.anyio
async def test_a_tokenizer_of_the_capability_counts(telemetry: Telemetry) -> None:
    """Its own counter is used, and said to be one."""
    words = lambda text: len(text.split())  # noqa: E731
    window = compaction.SlidingWindowCompaction(max_messages=5, keep_messages=3, tokenizer=words)
    await run(observe(window), "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.TOKENS_SOURCE] == names.SOURCE_TOKENIZER
    assert about[names.COMPACTION_TOKENS_BEFORE] < 11 * (len(TALK) + 1) + 20


@pytest.mark.anyio
async def test_instrumented_runs_have_one_span_a_call(
    telemetry: Telemetry,
) -> None:
    """Where Pydantic AI records model calls itself, there is no second span of the same call."""
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    script = Script("the gist", "fine")
    settings = InstrumentationSettings(
        tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider
    )
    helper = Agent(script.model(), capabilities=[Instrumentation(settings), observe(summarizing())])
    await helper.run("now", message_history=list(TALK))
    spans = telemetry.exported.get_finished_spans()
    ours = [span for span in spans if (span.attributes or {}).get(names.INFERENCE_PURPOSE)]
    assert ours == []
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_SUMMARY_CALLS] == 1


@pytest.mark.anyio
async def test_compaction_on_request_is_one_that_was_asked_for(telemetry: Telemetry) -> None:
    """The strategy behind the agent's tool is a stage of the pass."""
    from pydantic_ai.messages import ToolCallPart

    window = compaction.SlidingWindowCompaction(max_messages=99, keep_messages=3)
    asking = ToolCallPart("compact_context", {})
    plain = await run(compaction.CompactOnRequest(window), asking, "fine")
    assert await run(observe(compaction.CompactOnRequest(window)), asking, "fine") == plain
    assert tree(telemetry) == [names.SPAN_PASS, f"  {stage('SlidingWindowCompaction')}"]
