"""`observe` on LangChain's SummarizationMiddleware, in LangChain's own agent loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry.trace import StatusCode

from lovia_otel import names, observe
from tests.upstream.langchain.scripted import AGENT, USAGE, ScriptedModel, said, talk, words_of
from tests.upstream.trees import facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

STAGE = f"{names.SPAN_STAGE} summarization"
WHOLE_TREE = [
    names.SPAN_PASS,
    f"  {STAGE}",
    f"    {names.SPAN_FOLD}",
    f"      {names.SPAN_CHAT} acme-1",
]
TALK = talk(6)


def middleware(*script: Any, **options: Any) -> SummarizationMiddleware:
    """Return middleware that summarises from forty tokens on and keeps two messages."""
    return using_model(ScriptedModel(script=list(script)), **options)


def using_model(model: Any, kind: Any = SummarizationMiddleware, **options: Any) -> Any:
    """Return middleware of this kind; versions before 1.1 have other names for the settings."""
    if "trigger" in inspect.signature(SummarizationMiddleware).parameters:
        settings: dict[str, Any] = {"trigger": ("tokens", 40), "keep": ("messages", 2)}
    else:
        settings = {"max_tokens_before_summary": 40, "messages_to_keep": 2}
    return kind(model, **{**settings, **options})


def agent(using: Any, *script: Any) -> Any:
    """Return an agent with a memory and this middleware."""
    model = ScriptedModel(script=list(script))
    saver = InMemorySaver()
    return create_agent(model, middleware=[using], checkpointer=saver, name="helper")


def texts(state: dict[str, Any]) -> list[str]:
    """Return the texts of an agent's messages."""
    return [str(message.content) for message in state["messages"]]


THREAD = {"configurable": {"thread_id": "t1"}}


def invoke(using: Any, *script: Any, history: Any = TALK) -> list[str]:
    """Run an agent with this middleware on a history, and return the texts it ends with."""
    return texts(agent(using, *script).invoke({"messages": list(history)}, THREAD))


async def ainvoke(using: Any, *script: Any, history: Any = TALK) -> list[str]:
    """Run an agent with this middleware asynchronously."""
    return texts(await agent(using, *script).ainvoke({"messages": list(history)}, THREAD))


def test_a_summary_is_a_pass_with_a_stage_a_fold_and_a_call(telemetry: Telemetry) -> None:
    """The agent's history is the same as without observe, and the trace tells how it came to be."""
    plain = invoke(middleware("the gist"), "fine")
    assert tree(telemetry) == []
    assert invoke(observe(middleware("the gist")), "fine") == plain
    assert tree(telemetry) == WHOLE_TREE


@pytest.mark.anyio
async def test_a_summary_made_asynchronously_has_the_same_trace(telemetry: Telemetry) -> None:
    """The async loop gives the same history and the same tree."""
    plain = await ainvoke(middleware("the gist"), "fine")
    assert await ainvoke(observe(middleware("the gist")), "fine") == plain
    assert tree(telemetry) == WHOLE_TREE


def test_the_pass_tells_what_it_did(telemetry: Telemetry) -> None:
    """Agent, thread, trigger, sizes, outcome, the summary's bill and who counted."""
    invoke(observe(middleware("the gist", token_counter=words_of)), "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "SummarizationMiddleware"
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_THRESHOLD
    assert about.get(names.AGENT_NAME) == AGENT
    assert about[names.CONVERSATION_ID] == "t1"
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.TOKENS_SOURCE] == names.SOURCE_TOKENIZER
    assert about[names.COMPACTION_ENTRIES_BEFORE] == len(TALK)
    assert about[names.COMPACTION_ENTRIES_AFTER] == 3
    assert about[names.COMPACTION_TOKENS_BEFORE] == words_of(TALK)
    assert about[names.COMPACTION_TOKENS_AFTER] < about[names.COMPACTION_TOKENS_BEFORE]
    assert about[names.COMPACTION_SUMMARY_CALLS] == 1
    assert about[names.COMPACTION_SUMMARY_INPUT_TOKENS] == USAGE["input_tokens"]
    assert about[names.COMPACTION_SUMMARY_OUTPUT_TOKENS] == USAGE["output_tokens"]
    assert about[names.COMPACTION_STAGES] == ("summarization",)


def test_the_fold_and_the_call_tell_what_they_did(telemetry: Telemetry) -> None:
    """The fold knows what it folds; the call is a summary's, by the model that answered."""
    invoke(observe(middleware("the gist", token_counter=words_of)), "fine")
    fold = facts(telemetry, names.SPAN_FOLD)
    assert fold[names.CHUNK_ENTRIES] == len(TALK) - 2
    assert fold[names.CHUNK_TOKENS] == words_of(TALK[:-2])
    assert fold[names.CHUNK_ATTEMPTS] == 1
    call = facts(telemetry, f"{names.SPAN_CHAT} acme-1")
    assert call[names.INFERENCE_PURPOSE] == names.PURPOSE_SUMMARIZE
    assert call[names.PROVIDER_NAME] == "acme"
    assert call[names.RESPONSE_MODEL] == "acme-1-mini"
    assert call[names.USAGE_INPUT_TOKENS] == USAGE["input_tokens"]


def test_the_approximate_counter_does_not_pass_for_a_tokenizer(telemetry: Telemetry) -> None:
    """LangChain's default divides characters, and the source says that it is an estimate."""
    invoke(observe(middleware("the gist")), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.TOKENS_SOURCE] == names.SOURCE_BYTES


def test_below_the_trigger_there_is_no_pass(telemetry: Telemetry) -> None:
    """Middleware that is asked at each model call and does nothing leaves no span."""
    plain = invoke(middleware(), "fine", history=talk(1))
    assert invoke(observe(middleware()), "fine", history=talk(1)) == plain
    assert tree(telemetry) == []


def test_a_summary_larger_than_what_it_replaces_is_inflated(telemetry: Telemetry) -> None:
    """The growth shows as an outcome and in the counter of growth."""
    invoke(observe(middleware("gist " * 500)), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.INFLATED
    assert telemetry.total(names.METRIC_INFLATED_TOKENS) > 0


class Refused(Exception):
    """What the summarizer's model raises."""


def test_an_exception_of_the_summarizer_is_the_same(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without observe the run ends alike; the spans say who failed."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # newer versions try three times
    endings = []
    for wrap in (lambda same: same, observe):
        script = [Refused("no")] * 5
        try:
            endings.append(invoke(wrap(middleware(*script)), "fine"))
        except Refused as error:
            endings.append(type(error))
    assert endings[0] == endings[1]
    calls = [s for s in telemetry.exported.get_finished_spans() if s.name.startswith("chat")]
    assert calls
    assert {call.status.status_code for call in calls} == {StatusCode.ERROR}
    if endings[1] is Refused:  # older versions put the error into the summary's text
        about = facts(telemetry, names.SPAN_PASS)
        assert about[names.COMPACTION_OUTCOME] == names.FAILED
        assert about[names.ERROR_TYPE] == "Refused"
        assert about[names.COMPACTION_SUMMARY_CALLS] == len(calls)


class Sleepy(ScriptedModel):
    """A model that never answers."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(60)


@pytest.mark.anyio
async def test_a_cancelled_summary_is_a_cancelled_pass(telemetry: Telemetry) -> None:
    """Cancellation goes through; no span stays open."""
    if SummarizationMiddleware.abefore_model is AgentMiddleware.abefore_model:
        pytest.skip("this version writes summaries in a thread, which cannot be cancelled")
    sleepy = using_model(Sleepy(script=[]))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ainvoke(observe(sleepy), "fine"), 0.2)
    assert tree(telemetry) == WHOLE_TREE
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.CANCELLED


def test_what_is_observed_is_still_what_it_was(telemetry: Telemetry) -> None:
    """`isinstance`, name, attributes and their assignment are those of the middleware."""
    plain = middleware("the gist")
    observed = observe(plain)
    assert isinstance(observed, SummarizationMiddleware)
    assert observed.name == plain.name == "SummarizationMiddleware"
    assert observed.summary_prompt == plain.summary_prompt
    observed.summary_prompt = "In short: {messages}"
    assert plain.summary_prompt == "In short: {messages}"
    assert observe(observed) is observed
    plain.before_model({"messages": list(TALK)}, None)
    assert tree(telemetry) == []  # only the observed one tells


def test_a_subclass_of_the_middleware_is_observed_too(telemetry: Telemetry) -> None:
    """Recognition goes by the classes it inherits from, and its own methods stay in force."""

    class Mine(SummarizationMiddleware):
        def _create_summary(self, messages_to_summarize: Any) -> str:
            return "mine: " + super()._create_summary(messages_to_summarize)

    mine = using_model(ScriptedModel(script=["the gist"]), Mine)
    assert "mine: the gist" in invoke(observe(mine), "fine")[0]
    assert tree(telemetry) == WHOLE_TREE
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_POLICY] == "Mine"


def test_what_the_caller_says_counts(telemetry: Telemetry) -> None:
    """Name, counter, window and agent given to observe go before what LangChain knows."""
    observed = observe(
        middleware("the gist"), name="memory", counter=len, window_tokens=90, agent="boss"
    )
    invoke(observed, "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_POLICY] == "memory"
    assert about[names.COMPACTION_TOKENS_BEFORE] == len(TALK)
    assert about[names.CONTEXT_WINDOW_TOKENS] == 90
    assert about[names.AGENT_NAME] == "boss"


def test_several_turns_of_one_thread(telemetry: Telemetry) -> None:
    """Each pass of a conversation is told, with the model's own calls outside of them."""
    summarizer = ScriptedModel(script=[f"gist {number}" for number in range(5)])
    counter = lambda messages: 10 * len(list(messages))  # noqa: E731
    using = using_model(summarizer, token_counter=counter)
    helper = agent(observe(using), *[said("fine")] * 5)
    for turn in range(5):
        helper.invoke({"messages": [HumanMessage(f"question {turn}")]}, THREAD)
    assert len(summarizer.requests) > 1
    assert tree(telemetry) == WHOLE_TREE * len(summarizer.requests)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (("messages", 5), names.TRIGGER_ENTRIES),
        ([("tokens", 10), ("messages", 5)], names.TRIGGER_THRESHOLD),
        ([{"messages": 5}], names.TRIGGER_ENTRIES),
        ({"messages": 5, "tokens": 10}, names.TRIGGER_THRESHOLD),
    ],
)
def test_the_trigger_is_the_one_that_is_set(
    telemetry: Telemetry, trigger: Any, expected: str
) -> None:
    """A limit on messages alone is one on entries; everything else goes by tokens."""
    try:
        using = middleware("the gist", trigger=trigger)
    except (TypeError, ValueError, AttributeError) as problem:
        pytest.skip(f"this version takes no such trigger: {problem}")
    invoke(observe(using), "fine")
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_TRIGGER] == expected


def test_without_an_sdk_nothing_is_counted(no_sdk: None) -> None:
    """While nobody listens, the middleware counts as often as without observe."""
    counts: list[int] = []
    for wrap in (lambda same: same, observe):
        asked = []
        counter = lambda messages, asked=asked: asked.append(1) or words_of(messages)  # noqa: E731
        invoke(wrap(middleware("the gist", token_counter=counter)), "fine")
        counts.append(len(asked))
    assert counts[0] == counts[1]
