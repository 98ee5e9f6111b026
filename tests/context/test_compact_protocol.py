"""Policies of the 0.9 line, asked through the adapter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lovia import ContextOverflowError, PolicyContext, Usage
from lovia.context import CompactionRequest, ContextResult
from lovia.context.announcing import compacted_event
from lovia.context.compact_protocol import CompactPolicyAdapter
from lovia.runtime.policies import as_policy
from tests.notation import A, S, U

pytestmark = pytest.mark.anyio

TALK: list[Any] = [U("one"), A("two"), U("three")]


class Recorder:
    """A policy that keeps what it was asked, and answers as it is told."""

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[CompactionRequest] = []
        self.answer = answer

    async def compact(self, req: CompactionRequest) -> Any:
        """Answer."""
        self.asked.append(req)
        return self.answer or ContextResult(entries=list(req.entries))


async def test_it_finds_everything_where_it_was() -> None:
    """The request holds the system prompt and the transcript, and what the call is about."""
    policy, usage = Recorder(), Usage()
    ctx = PolicyContext(
        provider="p", model="m", last_input_tokens=7, instructions="Be.", tools=["t"], usage=usage
    )
    error = ContextOverflowError(reported_window=99)
    result = await CompactPolicyAdapter(policy).apply_reactive(TALK, ctx=ctx, error=error)
    (req,) = policy.asked
    assert req.entries == [S("Be."), *TALK]
    assert (req.provider, req.model, req.tools, req.last_input_tokens) == ("p", "m", ["t"], 7)
    assert (req.overflow, req.reported_window) == (True, 99)
    assert req.usage is usage
    assert (result.entries, result.changed, result.view) == (TALK, False, "original")


async def test_its_memory_is_the_runs() -> None:
    """What it writes into `scratch` is there the next time, and in the state that is saved."""
    policy, state = Recorder(), dict[str, Any]()
    for _ in range(2):
        await CompactPolicyAdapter(policy).apply(TALK, ctx=PolicyContext(state=state))
        policy.asked[-1].scratch["calls"] = len(policy.asked)
    assert state == {"scratch": {"calls": 2}}


@pytest.mark.parametrize("prompt", [True, False])
async def test_the_prompt_is_no_part_of_the_view(prompt: bool) -> None:
    """Whether the policy kept the system prompt or left it out, the view does not have it."""
    view = [*([S("Be.")] if prompt else []), U("three")]
    policy = Recorder(SimpleNamespace(entries=view))
    ctx = PolicyContext(instructions="Be.")
    result = await CompactPolicyAdapter(policy).apply(TALK, ctx=ctx)
    assert (result.entries, result.changed, result.view) == ([U("three")], True, "replayed")


async def test_what_it_says_of_a_pass_is_told() -> None:
    """A pass is told as such, with its reason, its summary and its own sentences."""
    answer = ContextResult([U("three")], compacted=True, reason="old", summary="s", detail=["gone"])
    adapter = as_policy(Recorder(answer))
    result: Any = await adapter.apply(TALK, ctx=PolicyContext())
    event = compacted_event(result, TALK, ctx=PolicyContext(), reactive=False)
    assert (event.outcome, event.reason, event.summary) == ("compacted", "old", "s")
    assert event.notice.detail == ("gone",)
    assert (event.entries_before, event.entries_after) == (TALK, [U("three")])


async def test_a_plain_function_serves_as_well() -> None:
    """`compact` need not be async, and the policy need not have tools."""

    class Plain:
        def compact(self, req: CompactionRequest) -> ContextResult:
            return ContextResult(req.entries[-1:])

    adapter = CompactPolicyAdapter(Plain())
    assert (await adapter.apply(TALK, ctx=PolicyContext())).entries == [U("three")]
    assert adapter.tools() == []
