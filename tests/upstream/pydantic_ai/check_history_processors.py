"""`observe` on Pydantic AI's history processors, plain and as a capability, in its agent loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from lovia_otel import names, observe
from tests.upstream.pydantic_ai.scripted import VERSION, Script, talk
from tests.upstream.trees import facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

TALK = talk(5)


def keep_three(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Keep the newest three messages."""
    return messages[-3:]


def keep_three_of_a_run(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    """Keep the newest three, knowing of the run."""
    assert ctx.model.model_name == "acme-1"
    return messages[-3:]


async def keep_three_async(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Keep the newest three, in a while."""
    await asyncio.sleep(0)
    return messages[-3:]


async def keep_three_of_a_run_async(
    ctx: RunContext[None], messages: list[ModelMessage]
) -> list[ModelMessage]:
    """Keep the newest three, in a while, knowing of the run."""
    await asyncio.sleep(0)
    return keep_three_of_a_run(ctx, messages)


class KeepThree:
    """A callable object with state."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(
        self, ctx: RunContext[None], messages: list[ModelMessage]
    ) -> list[ModelMessage]:
        """Keep the newest three."""
        self.calls += 1
        return keep_three_of_a_run(ctx, messages)


PROCESSORS = [
    keep_three,
    keep_three_of_a_run,
    keep_three_async,
    keep_three_of_a_run_async,
    KeepThree(),
    lambda messages: messages[-3:],
]


def agent(script: Script, processor: Any) -> Agent[None, str]:
    """Return an agent with this history processor, or with a capability."""
    if not isinstance(processor, AbstractCapability):
        processor = ProcessHistory(processor)
    return Agent(script.model(), name="helper", capabilities=[processor])


async def run(processor: Any, *answers: Any) -> list[list[str]]:
    """Run an agent on a history, and return the texts of each request that its model got."""
    script = Script(*answers)
    await agent(script, processor).run("now", message_history=list(TALK))
    return script.requests


@pytest.mark.anyio
@pytest.mark.parametrize("processor", PROCESSORS, ids=lambda p: getattr(p, "__name__", "object"))
async def test_a_processor_of_any_kind_is_a_pass(telemetry: Telemetry, processor: Any) -> None:
    """Sync or async, with or without the run, function or object: the model gets the same."""
    plain = await run(processor, "fine")
    assert tree(telemetry) == []
    assert await run(observe(processor), "fine") == plain
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_ENTRIES_BEFORE] == len(TALK) + 1
    assert about[names.COMPACTION_ENTRIES_AFTER] == 3
    assert about[names.TOKENS_SOURCE] == names.SOURCE_BYTES
    assert 0 < about[names.COMPACTION_TOKENS_AFTER] < about[names.COMPACTION_TOKENS_BEFORE]


@pytest.mark.anyio
async def test_a_processor_that_knows_the_run_tells_of_it(telemetry: Telemetry) -> None:
    """Agent, conversation and model are those of the run."""
    await run(observe(keep_three_of_a_run), "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "keep_three_of_a_run"
    assert about[names.AGENT_NAME] == "helper"
    assert about[names.REQUEST_MODEL] == "acme-1"
    assert about[names.CONVERSATION_ID]


@pytest.mark.anyio
@pytest.mark.skipif(VERSION >= (2, 0), reason="Pydantic AI 2 has capabilities instead")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_old_argument_of_agents_works_too(telemetry: Telemetry) -> None:
    """`history_processors=[...]` of Pydantic AI 1 takes what is observed."""
    script = Script("fine")
    helper = Agent(script.model(), history_processors=[observe(keep_three_of_a_run)])
    await helper.run("now", message_history=list(TALK))
    assert len(script.requests[0]) == 3
    assert tree(telemetry) == [names.SPAN_PASS]


@pytest.mark.anyio
async def test_the_capability_is_a_pass_when_it_changes_something(telemetry: Telemetry) -> None:
    """As a capability it is asked at each request, and leaves no span while it does nothing."""
    plain = await run(ProcessHistory(keep_three), "fine")
    observed = observe(ProcessHistory(keep_three))
    assert isinstance(observed, ProcessHistory)
    assert observed.processor is keep_three
    assert await run(observed, "fine") == plain
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "ProcessHistory"
    assert about[names.COMPACTION_ENTRIES_AFTER] == 3
    assert about[names.AGENT_NAME] == "helper"
    telemetry.exported.clear()
    await run(observe(ProcessHistory(lambda messages: messages)), "fine")
    assert tree(telemetry) == []


@pytest.mark.anyio
async def test_a_processor_that_does_nothing_is_no_pass(telemetry: Telemetry) -> None:
    """It is asked at each model call; a pass it is when it acts."""
    await run(observe(lambda messages: messages), "fine")
    assert tree(telemetry) == []


@pytest.mark.anyio
async def test_a_processor_that_adds_is_inflated(telemetry: Telemetry) -> None:
    """Growth is an outcome and counted."""
    await run(observe(lambda messages: [*talk(2), *messages]), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.INFLATED
    assert telemetry.total(names.METRIC_INFLATED_TOKENS) > 0


class Broken(Exception):
    """What a processor raises."""


def broken(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Raise."""
    raise Broken("no")


@pytest.mark.anyio
@pytest.mark.parametrize("wrap", [observe, lambda p: observe(ProcessHistory(p))])
async def test_an_exception_is_the_same(telemetry: Telemetry, wrap: Any) -> None:
    """It ends the run as it would, and the pass has failed."""
    with pytest.raises(Broken):
        await run(wrap(broken), "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.FAILED
    assert about[names.ERROR_TYPE] == "Broken"


@pytest.mark.anyio
async def test_a_cancelled_processor_is_a_cancelled_pass(telemetry: Telemetry) -> None:
    """Cancellation goes through."""

    async def sleepy(messages: list[ModelMessage]) -> list[ModelMessage]:
        await asyncio.sleep(60)
        return messages

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run(observe(sleepy), "fine"), 0.2)
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.CANCELLED


def test_an_agent_that_runs_synchronously_is_observed_too(telemetry: Telemetry) -> None:
    """`run_sync` makes the same pass."""
    script = Script("fine")
    agent(script, observe(keep_three)).run_sync("now", message_history=list(TALK))
    assert tree(telemetry) == [names.SPAN_PASS]


@pytest.mark.anyio
async def test_a_capability_of_ones_own_is_observed(telemetry: Telemetry) -> None:
    """Anybody's capability with a hook before model requests; its copies for a run are too."""

    class Fresh(AbstractCapability[None]):
        def __init__(self, kept: int) -> None:
            self.kept = kept

        async def for_run(self, ctx: Any) -> Any:
            return type(self)(self.kept)

        async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
            request_context.messages = request_context.messages[-self.kept :]
            ctx.messages[:] = request_context.messages
            return request_context

    assert await run(observe(Fresh(3)), "fine") == await run(Fresh(3), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_POLICY] == "Fresh"


@pytest.mark.anyio
async def test_the_models_own_calls_are_not_the_passes(telemetry: Telemetry) -> None:
    """After the pass the run goes on with the model that it had."""
    models = []

    def look(ctx: RunContext[None], messages: list[ModelMessage]) -> list[ModelMessage]:
        models.append(ctx.model)
        return messages

    script = Script("fine")
    model = script.model()
    result = await Agent(
        model, capabilities=[observe(ProcessHistory(keep_three)), ProcessHistory(look)]
    ).run("now", message_history=list(TALK))
    assert models == [model]
    assert type(models[0]) is type(model)
    assert isinstance(result.all_messages()[-1], ModelResponse | ModelRequest)
    assert tree(telemetry) == [names.SPAN_PASS]
