"""`observe` on LangChain's ContextEditingMiddleware, in LangChain's own agent loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
from langchain_core.messages import ToolMessage
from opentelemetry.trace import get_current_span

from lovia_otel import names, observe
from tests.upstream.langchain.scripted import AGENT, ScriptedModel, tool_turns
from tests.upstream.trees import all_facts, facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

HISTORY = tool_turns(6, 200)
STAGE = f"{names.SPAN_STAGE} ClearToolUsesEdit"


class Shorten:
    """A user's own edit: it cuts each tool result to ten words."""

    def apply(self, messages: list[Any], *, count_tokens: Any) -> None:
        """Cut in place, as edits do."""
        for index, message in enumerate(messages):
            if isinstance(message, ToolMessage):
                short = " ".join(str(message.content).split()[:10])
                messages[index] = message.model_copy(update={"content": short})


class Broken:
    """An edit that raises."""

    def apply(self, messages: list[Any], *, count_tokens: Any) -> None:
        """Fail."""
        raise ZeroDivisionError("edit")


def middleware(*edits: Any) -> ContextEditingMiddleware:
    """Return middleware with these edits, by default one that clears all but one result."""
    return ContextEditingMiddleware(edits=edits or [ClearToolUsesEdit(trigger=500, keep=1)])


class Watchful(ScriptedModel):
    """A model that notes whether its calls are inside of some span."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        assert not get_current_span().get_span_context().is_valid
        return super()._generate(messages, *args, **kwargs)


def sent(using: Any, *script: Any, history: Any = HISTORY) -> list[list[str]]:
    """Run an agent, and return the texts of each request that its model got."""
    model = Watchful(script=list(script))
    create_agent(model, middleware=[using], name="helper").invoke({"messages": list(history)})
    return [[str(message.content) for message in request] for request in model.requests]


async def asent(using: Any, *script: Any) -> list[list[str]]:
    """Run an agent asynchronously, and return the texts of each request."""
    model = Watchful(script=list(script))
    await create_agent(model, middleware=[using], name="helper").ainvoke(
        {"messages": list(HISTORY)}
    )
    return [[str(message.content) for message in request] for request in model.requests]


def test_an_edit_is_a_stage_of_a_pass_that_ends_before_the_call(telemetry: Telemetry) -> None:
    """The model gets the same request, outside of the pass."""
    assert sent(observe(middleware()), "fine") == sent(middleware(), "fine")
    assert tree(telemetry) == [names.SPAN_PASS, f"  {STAGE}"]


@pytest.mark.anyio
async def test_edits_of_async_calls_are_told_alike(telemetry: Telemetry) -> None:
    """The async loop gives the same request and the same tree."""
    assert await asent(observe(middleware()), "fine") == await asent(middleware(), "fine")
    assert tree(telemetry) == [names.SPAN_PASS, f"  {STAGE}"]


def test_pass_and_stage_tell_their_sizes(telemetry: Telemetry) -> None:
    """History, request before and after, and what the edit freed."""
    sent(observe(middleware(), window_tokens=1000), "fine")
    about, stage = facts(telemetry, names.SPAN_PASS), facts(telemetry, STAGE)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about.get(names.AGENT_NAME) == AGENT
    assert about[names.REQUEST_MODEL] == "acme-1"
    assert about[names.TOKENS_SOURCE] == names.SOURCE_BYTES
    assert about[names.CONTEXT_HISTORY_TOKENS] == about[names.COMPACTION_TOKENS_BEFORE]
    assert about[names.COMPACTION_TOKENS_FREED] > 1000
    assert about[names.COMPACTION_ENTRIES_AFTER] == len(HISTORY)
    for key in (names.COMPACTION_TOKENS_BEFORE, names.COMPACTION_TOKENS_AFTER):
        assert stage[key] == about[key]
    assert telemetry.total(names.METRIC_FREED_TOKENS) == about[names.COMPACTION_TOKENS_FREED]
    after = about[names.COMPACTION_TOKENS_AFTER]
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 1000 - after
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == after


def test_each_edit_that_acts_has_its_stage(telemetry: Telemetry) -> None:
    """Edits by anyone are told by their class; those that do nothing are not told."""
    edits = [ClearToolUsesEdit(trigger=10**6), Shorten(), ClearToolUsesEdit(trigger=10, keep=1)]
    plain = sent(middleware(*edits), "fine")
    assert sent(observe(middleware(*edits)), "fine") == plain
    stages = [f"  {names.SPAN_STAGE} Shorten", f"  {STAGE}"]
    assert tree(telemetry) == [names.SPAN_PASS, *stages]


def test_a_call_with_nothing_to_edit_has_no_pass(telemetry: Telemetry) -> None:
    """Below the trigger there is no span, and the size of the request is measured all the same."""
    sent(observe(middleware(ClearToolUsesEdit(trigger=10**6))), "fine")
    assert tree(telemetry) == []
    assert telemetry.points(names.METRIC_REQUEST_SIZE)


def test_an_edit_that_raises_fails_its_stage_and_the_pass(telemetry: Telemetry) -> None:
    """The exception leaves as it is."""
    with pytest.raises(ZeroDivisionError, match="edit"):
        sent(observe(middleware(Broken())), "fine")
    assert tree(telemetry) == [names.SPAN_PASS, f"  {names.SPAN_STAGE} Broken"]
    for span in (names.SPAN_PASS, f"{names.SPAN_STAGE} Broken"):
        assert facts(telemetry, span)[names.COMPACTION_OUTCOME] == names.FAILED


def test_the_models_own_exception_is_no_failure_of_the_pass(telemetry: Telemetry) -> None:
    """A pass that handed over its view has done its work, whatever the model then does."""
    with pytest.raises(ConnectionError):
        sent(observe(middleware()), ConnectionError("model"))
    (about,) = all_facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED


def test_the_edits_are_the_users_own(telemetry: Telemetry) -> None:
    """Outside of a pass the list of edits is the list that was given, and can be replaced."""
    edits = [Shorten()]
    observed = observe(ContextEditingMiddleware(edits=edits))
    assert isinstance(observed, ContextEditingMiddleware)
    assert [type(edit) for edit in observed.edits] == [Shorten]
    observed.edits = [ClearToolUsesEdit(trigger=500, keep=1)]
    sent(observed, "fine")
    assert tree(telemetry) == [names.SPAN_PASS, f"  {STAGE}"]
