"""`observe` on the compacting session of the OpenAI Agents SDK, in its own agent loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import openai
import pytest
from agents import RunConfig, Runner, SQLiteSession
from agents.memory import OpenAIResponsesCompactionSession, SessionABC
from agents.memory.session import is_openai_responses_compaction_aware_session
from agents.run import ModelInputData

from lovia_otel import UnobservableError, names, observe
from tests.upstream.openai_agents.scripted import USAGE, Script, talk
from tests.upstream.trees import all_facts, facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

WHOLE_TREE = [
    names.SPAN_PASS,
    f"  {names.SPAN_STAGE} responses_compact",
    f"    {names.SPAN_CHAT} gpt-4.1",
]


def session(script: Script, **options: Any) -> OpenAIResponsesCompactionSession:
    """Return a session in memory that the script compacts."""
    store = SQLiteSession("s1")
    return OpenAIResponsesCompactionSession("s1", store, client=script.client(), **options)


def eagerly(context: dict[str, Any]) -> bool:
    """Decide to compact from three items on."""
    return len(context["session_items"]) >= 3


async def converse(script: Script, using: Any, turns: int) -> list[Any]:
    """Run so many turns of an agent with this session, and return the items that it ends with."""
    agent = script.agent()
    for turn in range(turns):
        await Runner.run(agent, f"question {turn}", session=using)
    return [*script.sent, await using.get_items()]


@pytest.mark.anyio
async def test_a_compaction_after_a_turn_is_a_pass(telemetry: Telemetry) -> None:
    """The session ends with the same items, and the trace has stage and call."""
    plain, traced = (Script("a", "b", compactions=["opaque"]) for _ in range(2))
    options = {"should_trigger_compaction": eagerly}
    expected = await converse(plain, session(plain, **options), 2)
    assert tree(telemetry) == []
    assert await converse(traced, observe(session(traced, **options)), 2) == expected
    assert tree(telemetry) == WHOLE_TREE


@pytest.mark.anyio
async def test_the_pass_tells_what_it_did(telemetry: Telemetry) -> None:
    """Items before and after, the call's bill, and the session."""
    script = Script("a", "b", compactions=["opaque"])
    await converse(script, observe(session(script, should_trigger_compaction=eagerly)), 2)
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "OpenAIResponsesCompactionSession"
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_THRESHOLD
    assert about[names.COMPACTION_OUTCOME] in {names.COMPACTED, names.INFLATED}
    assert about[names.CONVERSATION_ID] == "s1"
    assert about[names.COMPACTION_ENTRIES_BEFORE] == 4
    assert about[names.COMPACTION_ENTRIES_AFTER] == 2
    assert about[names.TOKENS_SOURCE] == names.SOURCE_BYTES
    assert about[names.COMPACTION_SUMMARY_CALLS] == 1
    assert about[names.COMPACTION_SUMMARY_INPUT_TOKENS] == USAGE["input_tokens"]
    call = facts(telemetry, f"{names.SPAN_CHAT} gpt-4.1")
    assert call[names.INFERENCE_PURPOSE] == names.PURPOSE_SUMMARIZE
    assert call[names.USAGE_CACHE_READ] == 10


@pytest.mark.anyio
async def test_a_session_that_decides_to_wait_leaves_no_span(telemetry: Telemetry) -> None:
    """By the SDK's own hook two turns are not enough."""
    script = Script("a", "b")
    await converse(script, observe(session(script)), 2)
    assert tree(telemetry) == []


@pytest.mark.anyio
async def test_the_sdks_own_hook_counts_items(telemetry: Telemetry) -> None:
    """Its trigger is the number of entries, and compaction makes a long session smaller."""
    script = Script("a", compactions=["opaque"])
    using = observe(session(script))
    await using.add_items(talk(12))
    await converse(script, using, 1)
    (about,) = all_facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_ENTRIES
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_TOKENS_FREED] > 200


@pytest.mark.anyio
async def test_a_session_that_is_compacted_in_part_is_told_as_a_whole(telemetry: Telemetry) -> None:
    """What is left alone counts before and after, whichever part the SDK has compacted."""
    script = Script("a", compactions=["opaque"])
    using = observe(session(script, should_trigger_compaction=eagerly))
    await using.add_items(talk(12))
    newest = RunConfig(
        call_model_input_filter=lambda data: ModelInputData(data.model_data.input[-5:], None)
    )
    await Runner.run(script.agent(), "question", session=using, run_config=newest)
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_ENTRIES_BEFORE] == 26
    assert about[names.COMPACTION_ENTRIES_AFTER] == len(await using.get_items()) < 26
    assert about[names.COMPACTION_TOKENS_FREED] > 0


@pytest.mark.anyio
async def test_a_forced_compaction_is_manual(telemetry: Telemetry) -> None:
    """Somebody asked for it by hand."""
    script = Script(compactions=["opaque"])
    using = observe(session(script))
    await using.add_items(talk(3))
    await using.run_compaction({"force": True, "compaction_mode": "input"})
    assert tree(telemetry) == WHOLE_TREE
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_MANUAL
    assert about[names.COMPACTION_ENTRIES_BEFORE] == 6


@pytest.mark.anyio
async def test_a_refused_compaction_is_the_same_exception(telemetry: Telemetry) -> None:
    """Pass, stage and call failed; the items stay as they are."""
    script = Script(compactions=[400])
    using = observe(session(script))
    await using.add_items(talk(3))
    with pytest.raises(openai.BadRequestError):
        await using.run_compaction({"force": True, "compaction_mode": "input"})
    assert tree(telemetry) == WHOLE_TREE
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.FAILED
    assert about[names.ERROR_TYPE] == "BadRequestError"
    assert len(await using.get_items()) == 6


@pytest.mark.anyio
async def test_a_hook_that_raises_fails_the_pass(telemetry: Telemetry) -> None:
    """Compaction that fails before anybody is asked is told all the same."""

    def broken(context: dict[str, Any]) -> bool:
        raise ZeroDivisionError

    using = observe(session(Script(), should_trigger_compaction=broken))
    await using.add_items(talk(3))
    with pytest.raises(ZeroDivisionError):
        await using.run_compaction({"response_id": "resp_1"})
    assert tree(telemetry) == [names.SPAN_PASS]
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_ENTRIES_BEFORE] == 6


@pytest.mark.anyio
async def test_a_cancelled_compaction_is_a_cancelled_pass(telemetry: Telemetry) -> None:
    """Cancellation goes through, and no span stays open."""
    using = observe(session(Script(compactions=[None])))
    await using.add_items(talk(3))
    asked = using.run_compaction({"force": True, "compaction_mode": "input"})
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asked, 0.2)
    assert tree(telemetry) == WHOLE_TREE
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.CANCELLED


@pytest.mark.anyio
async def test_what_is_observed_is_still_what_it_was() -> None:
    """The SDK's own checks, attributes, and the client are those of the session."""
    script = Script()
    plain = session(script)
    observed = observe(plain)
    assert isinstance(observed, OpenAIResponsesCompactionSession)
    assert isinstance(observed, SessionABC)
    assert is_openai_responses_compaction_aware_session(observed)
    assert observed.client is plain.client
    assert observed.should_trigger_compaction is plain.should_trigger_compaction
    assert observed.session_id == "s1"
    await observed.add_items(talk(1))
    assert len(await plain.get_items()) == 2


class Halving(SQLiteSession):
    """Somebody's own session, which compacts by leaving half away."""

    async def run_compaction(self, args: Any = None) -> None:
        """Keep the newer half, if there is more than a little."""
        items = await self.get_items()
        if len(items) >= 4:
            await self.clear_session()
            await self.add_items(items[len(items) // 2 :])


@pytest.mark.anyio
async def test_a_session_of_ones_own_is_compared_before_and_after(telemetry: Telemetry) -> None:
    """Anything with a run_compaction() is a pass when it changed the items."""
    plain, traced = Script("a", "b"), Script("a", "b")
    expected = await converse(plain, Halving("s2"), 2)
    assert await converse(traced, observe(Halving("s2")), 2) == expected
    (about,) = all_facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_ENTRIES_BEFORE] == 4
    assert about[names.COMPACTION_ENTRIES_AFTER] == 2
    assert about[names.CONVERSATION_ID] == "s2"


def test_a_session_that_does_not_compact_cannot_be_observed() -> None:
    """There is nothing to observe, and observe says so."""
    with pytest.raises(UnobservableError, match="SQLiteSession"):
        observe(SQLiteSession("s3"))
