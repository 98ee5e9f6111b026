"""`observe` on a ``call_model_input_filter`` of the OpenAI Agents SDK, in its own agent loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from agents import RunConfig, Runner
from agents.run import CallModelData, ModelInputData

from lovia_otel import names, observe
from tests.upstream.openai_agents.scripted import Script, talk
from tests.upstream.trees import facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

TALK = [*talk(5), {"role": "user", "content": "now"}]


def keep_three(data: CallModelData[Any]) -> ModelInputData:
    """Send the newest three items."""
    held = data.model_data
    return ModelInputData(input=held.input[-3:], instructions=held.instructions)


async def keep_three_async(data: CallModelData[Any]) -> ModelInputData:
    """Send the newest three items, in a while."""
    await asyncio.sleep(0)
    return keep_three(data)


class KeepThree:
    """A callable object with state, as the SDK's own trimmer is one."""

    kept = 3

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Send the newest items."""
        return keep_three(data)


def edit_in_place(data: CallModelData[Any]) -> ModelInputData:
    """Cut the list that is handed over, and hand it back."""
    del data.model_data.input[:-3]
    return data.model_data


FILTERS = [
    *(keep_three, keep_three_async, KeepThree(), edit_in_place),
    lambda data: ModelInputData(data.model_data.input[-3:], data.model_data.instructions),
]


async def run(using: Any, *answers: Any) -> list[Any]:
    """Run an agent with this filter, and return the inputs of its requests."""
    script = Script(*answers)
    config = RunConfig(call_model_input_filter=using)
    await Runner.run(script.agent(instructions="Be brief."), list(TALK), run_config=config)
    return script.sent


@pytest.mark.anyio
@pytest.mark.parametrize("using", FILTERS, ids=lambda f: getattr(f, "__name__", "object"))
async def test_a_filter_of_any_kind_is_a_pass(telemetry: Telemetry, using: Any) -> None:
    """The model gets the same input, and the pass tells by how much it is smaller."""
    plain = await run(using, "fine")
    assert await run(observe(using), "fine") == plain
    assert tree(telemetry) == [names.SPAN_PASS]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.AGENT_NAME] == "helper"
    assert about[names.COMPACTION_ENTRIES_BEFORE] == len(TALK)
    assert about[names.COMPACTION_ENTRIES_AFTER] == 3
    assert about[names.CONTEXT_HISTORY_TOKENS] == about[names.COMPACTION_TOKENS_BEFORE]
    assert about[names.TOKENS_SOURCE] == names.SOURCE_BYTES


@pytest.mark.anyio
async def test_a_filter_tells_the_sizes_of_the_call(telemetry: Telemetry) -> None:
    """With a window and a counter, what it saved is counted per call."""
    await run(observe(keep_three, counter=len, window_tokens=8), "fine")
    assert telemetry.total(names.METRIC_HISTORY_SIZE) == len(TALK)
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == 3
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 8 - 3


@pytest.mark.anyio
async def test_a_filter_that_changes_nothing_is_no_pass(telemetry: Telemetry) -> None:
    """It is asked at each model call; a pass it is when it acts."""
    await run(observe(lambda data: data.model_data), "fine")
    assert names.SPAN_PASS not in telemetry.spans


@pytest.mark.anyio
async def test_an_exception_of_a_filter_is_the_same(telemetry: Telemetry) -> None:
    """It ends the run as it would, and the pass has failed."""

    def broken(data: CallModelData[Any]) -> ModelInputData:
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        await run(observe(broken), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.FAILED


@pytest.mark.anyio
async def test_the_sdks_own_trimmer_is_observed(telemetry: Telemetry) -> None:
    """`ToolOutputTrimmer` is a callable object, and still one of its class."""
    extension = pytest.importorskip("agents.extensions.tool_output_trimmer")
    trimmer = extension.ToolOutputTrimmer(recent_turns=1, max_output_chars=50, preview_chars=10)
    observed = observe(trimmer)
    assert isinstance(observed, extension.ToolOutputTrimmer)
    assert observed.recent_turns == 1
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "word " * 500}
    history = [{"role": "user", "content": "look"}, call, result, *talk(3)]
    sent = []
    for using in (trimmer, observed):
        script = Script("fine")
        config = RunConfig(call_model_input_filter=using)
        await Runner.run(script.agent(), [*history, TALK[-1]], run_config=config)
        sent.append(script.sent)
    assert sent[0] == sent[1]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "ToolOutputTrimmer"
    assert about[names.COMPACTION_TOKENS_FREED] > 500
