"""`observe` on deepagents' summarization, before model calls and as a tool of the agent."""

from __future__ import annotations

import asyncio
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.middleware.summarization import (
    SummarizationMiddleware,
    SummarizationToolMiddleware,
)
from langchain.agents import create_agent
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from lovia_otel import names, observe
from tests.upstream.langchain.scripted import USAGE, ScriptedModel, said, talk, words_of
from tests.upstream.trees import all_facts, facts, tree

if TYPE_CHECKING:
    from pathlib import Path

    from tests.otel.conftest import Telemetry

NEW = not version("deepagents").startswith("0.6.")
STAGE = f"{names.SPAN_STAGE} summarization"
SUMMARY = [f"    {names.SPAN_FOLD}", f"      {names.SPAN_CHAT} acme-1"]
TALK = talk(6)
THREAD = {"configurable": {"thread_id": "t1"}}


def whole_tree(*, asynchronous: bool = False) -> list[str]:
    """Return the tree of a pass: the summary and the archive may change places, if concurrent."""
    archive = [f"    {names.SPAN_ARCHIVE}"]
    parts = archive + SUMMARY
    return (
        sorted([names.SPAN_PASS, f"  {STAGE}", *parts])
        if asynchronous
        else [names.SPAN_PASS, f"  {STAGE}", *parts]
    )


def summarization(path: Path, *script: Any, **options: Any) -> SummarizationMiddleware:
    """Return middleware that summarises from forty tokens on and keeps two messages."""
    settings: dict[str, Any] = {
        "trigger": ("tokens", 40),
        "keep": ("messages", 2),
        "backend": FilesystemBackend(root_dir=str(path), virtual_mode=True),
        "token_counter": words_of,
    }
    model = ScriptedModel(script=list(script))
    return SummarizationMiddleware(model, **{**settings, **options})


def requests(using: Any, *script: Any, history: Any = TALK) -> list[list[str]]:
    """Run an agent with this middleware, and return the texts of each request that it made."""
    model = ScriptedModel(script=list(script))
    agent = create_agent(model, middleware=[using], checkpointer=InMemorySaver(), name="helper")
    agent.invoke({"messages": list(history)}, THREAD)
    return _texts(model)


async def arequests(using: Any, *script: Any) -> list[list[str]]:
    """Run an agent asynchronously, and return the texts of each request."""
    model = ScriptedModel(script=list(script))
    await create_agent(model, middleware=[using], name="helper").ainvoke({"messages": list(TALK)})
    return _texts(model)


def _texts(model: ScriptedModel) -> list[list[str]]:
    """Return the texts of all requests; file names are drawn by lot, and left out."""
    return [
        [re.sub(r"session_\w+|[0-9a-f-]{12,}", "ID", str(message.content)) for message in request]
        for request in model.requests
    ]


def test_a_summary_is_a_pass_with_archive_fold_and_call(
    telemetry: Telemetry, tmp_path: Path
) -> None:
    """The model gets the same request, and the trace tells how it came to be."""
    plain = requests(summarization(tmp_path, "the gist"), "fine")
    assert tree(telemetry) == []
    assert requests(observe(summarization(tmp_path, "the gist")), "fine") == plain
    assert tree(telemetry) == whole_tree()


@pytest.mark.anyio
async def test_an_async_summary_has_the_same_spans(telemetry: Telemetry, tmp_path: Path) -> None:
    """Archive and summary run at the same time, and both are below the stage."""
    plain = await arequests(summarization(tmp_path, "the gist"), "fine")
    assert await arequests(observe(summarization(tmp_path, "the gist")), "fine") == plain
    assert sorted(tree(telemetry)) == whole_tree(asynchronous=True)


def test_the_pass_tells_what_it_did(telemetry: Telemetry, tmp_path: Path) -> None:
    """Sizes by the middleware's own counter, the summary's bill, and where the rest went."""
    requests(observe(summarization(tmp_path, "the gist"), window_tokens=100), "fine")
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_THRESHOLD
    assert about[names.CONVERSATION_ID] == "t1"
    assert about[names.AGENT_NAME] == "helper"
    assert about[names.TOKENS_SOURCE] == names.SOURCE_TOKENIZER
    assert about[names.COMPACTION_TOKENS_BEFORE] == words_of(TALK)
    assert about[names.CONTEXT_HISTORY_TOKENS] == words_of(TALK)
    assert about[names.COMPACTION_ENTRIES_AFTER] == 3
    assert about[names.COMPACTION_SUMMARY_INPUT_TOKENS] == USAGE["input_tokens"]
    archive = facts(telemetry, names.SPAN_ARCHIVE)
    assert archive[names.ARCHIVE_STORE] == "FilesystemBackend"
    assert archive[names.ARCHIVE_ENTRIES] == len(TALK) - 2
    assert archive[names.ARCHIVE_REF].endswith(".md")
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == about[names.COMPACTION_TOKENS_AFTER]


def test_a_call_that_replays_a_summary_is_no_pass(telemetry: Telemetry, tmp_path: Path) -> None:
    """The next call sends the view that stands for the same history, and nothing is compacted."""
    using = observe(summarization(tmp_path, "the gist", trigger=("tokens", 100)), window_tokens=200)
    model = ScriptedModel(script=[said("fine"), said("fine again")])
    agent = create_agent(model, middleware=[using], checkpointer=InMemorySaver())
    agent.invoke({"messages": list(TALK)}, THREAD)
    agent.invoke({"messages": talk(1)}, THREAD)
    assert tree(telemetry) == whole_tree()
    histories = telemetry.points(names.METRIC_HISTORY_SIZE)
    assert sum(point.count for point in histories) == 2  # both calls told their sizes
    assert telemetry.total(names.METRIC_SAVED_TOKENS) > 0


def test_arguments_that_are_cut_are_a_stage(telemetry: Telemetry, tmp_path: Path) -> None:
    """The cheap stage before the summary is told when it cuts something."""
    call = {"name": "write_file", "args": {"content": "word " * 900}, "id": "c1"}
    history = [*talk(1), AIMessage("", tool_calls=[call]), *talk(3)]
    counter = lambda messages: sum(len(str(m)) for m in messages)  # noqa: E731
    settings = {"trigger": ("messages", 2), "keep": ("messages", 2), "max_length": 100}
    using = summarization(
        *(tmp_path, "the gist"),
        trigger=("messages", 99),
        token_counter=counter,
        truncate_args_settings=settings,
    )
    requests(observe(using), "fine", history=history)
    assert tree(telemetry) == [names.SPAN_PASS, f"  {names.SPAN_STAGE} truncate_args"]
    stage = facts(telemetry, f"{names.SPAN_STAGE} truncate_args")
    about = facts(telemetry, names.SPAN_PASS)
    assert stage[names.COMPACTION_TOKENS_BEFORE] - stage[names.COMPACTION_TOKENS_AFTER] > 4000
    assert about[names.COMPACTION_TOKENS_FREED] > 4000


def test_below_the_trigger_there_is_no_pass(telemetry: Telemetry, tmp_path: Path) -> None:
    """A request that is small enough leaves no span."""
    requests(observe(summarization(tmp_path)), "fine", history=talk(1))
    assert tree(telemetry) == []


def test_a_rejected_request_is_summarised_in_a_pass_of_its_own(
    telemetry: Telemetry, tmp_path: Path
) -> None:
    """When the provider says that it was too much, the pass's trigger is the overflow."""
    script = [ContextOverflowError("too long"), "fine"]
    plain = requests(summarization(tmp_path, "the gist", trigger=("tokens", 10**6)), *script)
    observed = observe(summarization(tmp_path, "the gist", trigger=("tokens", 10**6)))
    assert requests(observed, *script) == plain
    (about,) = all_facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_OVERFLOW
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED


def test_the_models_own_exception_is_no_failure_of_a_pass(
    telemetry: Telemetry, tmp_path: Path
) -> None:
    """What the middleware lets through is not its own."""
    with pytest.raises(ConnectionError):
        requests(observe(summarization(tmp_path)), ConnectionError("no"), history=talk(1))
    assert tree(telemetry) == []


class Refused(Exception):
    """What the summarizer's model raises."""


def test_an_exception_of_the_summarizer_is_the_same(
    telemetry: Telemetry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends with it, and pass, stage, fold and call are errors."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(Refused):
        requests(observe(summarization(tmp_path, *[Refused("no")] * 5)), "fine")
    for span in (names.SPAN_PASS, STAGE):
        assert facts(telemetry, span)[names.COMPACTION_OUTCOME] == names.FAILED
    assert facts(telemetry, names.SPAN_FOLD)[names.ERROR_TYPE] == "Refused"


class Sleepy(ScriptedModel):
    """A model that never answers."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(60)


@pytest.mark.anyio
async def test_a_cancelled_summary_is_a_cancelled_pass(
    telemetry: Telemetry, tmp_path: Path
) -> None:
    """Cancellation goes through every span."""
    backend = FilesystemBackend(root_dir=str(tmp_path), virtual_mode=True)
    using = SummarizationMiddleware(
        Sleepy(script=[]), backend=backend, trigger=("tokens", 40), keep=("messages", 2)
    )
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(arequests(observe(using), "fine"), 0.5)
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.CANCELLED
    assert f"      {names.SPAN_CHAT} acme-1" in tree(telemetry)


CALL = {"name": "compact_conversation", "args": {}, "id": "c1", "type": "tool_call"}


@pytest.mark.parametrize("summary", ["the gist", Refused("no")], ids=["written", "refused"])
def test_the_tool_makes_a_pass_that_was_asked_for(
    telemetry: Telemetry, tmp_path: Path, summary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent's own call for a summary is a manual pass; where the tool fails, so does it."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    plain = SummarizationToolMiddleware(summarization(tmp_path, *[summary] * 5))
    observed = observe(SummarizationToolMiddleware(summarization(tmp_path, *[summary] * 5)))
    endings = []
    for using in (plain, observed):
        reported = {"input_tokens": 90, "output_tokens": 1, "total_tokens": 91}
        about = {"model_provider": "acme"}  # by which the middleware believes the usage
        asking = AIMessage("", tool_calls=[CALL], usage_metadata=reported, response_metadata=about)
        endings.append(requests(using, asking, "fine"))
    assert endings[0] == endings[1]
    failed = isinstance(summary, Refused)
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_MANUAL
    assert about[names.COMPACTION_OUTCOME] == (names.FAILED if failed else names.COMPACTED)
    assert f"    {names.SPAN_FOLD}" in tree(telemetry)


def test_what_is_observed_is_still_what_it_was(tmp_path: Path) -> None:
    """Classes, names, attributes and tools are those of the middleware."""
    plain = summarization(tmp_path)
    observed = observe(plain)
    assert isinstance(observed, SummarizationMiddleware)
    assert observed.name == plain.name
    assert observed.token_counter is plain.token_counter
    tool = observe(SummarizationToolMiddleware(plain))
    assert isinstance(tool, SummarizationToolMiddleware)
    assert [made.name for made in tool.tools] == ["compact_conversation"]
    assert SummarizationToolMiddleware(observed).tools


@pytest.mark.skipif(not NEW, reason="deepagents 0.6 adds its own and refuses a second one")
def test_a_deep_agent_takes_the_observed_middleware(telemetry: Telemetry, tmp_path: Path) -> None:
    """In place of the one that create_deep_agent adds, since it has the same name."""
    model = ScriptedModel(script=["fine"])
    agent = create_deep_agent(model, middleware=[observe(summarization(tmp_path, "the gist"))])
    agent.invoke({"messages": list(TALK)})
    assert tree(telemetry) == whole_tree()
