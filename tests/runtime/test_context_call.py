"""What policies get, what they may return, and what is told about it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lovia import ContextPolicyResult, InputEntry, ReasoningEntry, Runner, events, tool
from lovia.testing import ScriptedProvider, call, text
from tests.runtime.support import Newest, Untouched, events_of, provider_of, scripted

if TYPE_CHECKING:
    from lovia import TranscriptEntry
    from lovia.events import Event

pytestmark = pytest.mark.anyio


@tool
def look() -> str:
    """Look."""
    return "seen"


def compacted(seen: list[Event]) -> list[events.ContextCompacted]:
    """Return the compactions among events."""
    return [event for event in seen if isinstance(event, events.ContextCompacted)]


async def test_a_policy_gets_everything_that_is_part_of_the_request() -> None:
    """Provider, model, agent, instructions, tools and the run's usage are in the context."""
    policy = Untouched()
    agent = scripted(
        *(call("look"), text("ok")), instructions="Be.", tools=[look], context_policy=policy
    )
    result = await Runner.run(agent, "go")
    first, second = policy.contexts
    assert first.provider is agent.model
    assert (first.model, first.agent, first.instructions) == ("scripted", "bot", "Be.")
    assert [schema["function"]["name"] for schema in first.tools] == ["look"]
    assert first.run_id == result.run_id
    assert (first.last_input_tokens, second.last_input_tokens) == (None, 1)
    assert second.usage is result.usage
    assert second.state is first.state


async def test_the_tools_of_a_policy_are_offered() -> None:
    """A policy's tools go into the request; the agent's own tool of the same name wins."""

    class Recalling(Untouched):
        def tools(self) -> list[Any]:
            return [tool(_recall), tool(_recall, name="look")]

    def _recall() -> str:
        """Recall."""
        return "recalled"

    agent = scripted(call("_recall"), call("look"), text("ok"), context_policy=Recalling())
    agent.tools.append(look)
    result = await Runner.run(agent, "go")
    outputs = [entry.output for entry in result.entries if hasattr(entry, "output")]
    assert outputs == ["recalled", "seen"]


async def test_a_view_that_was_cut_anew_is_told() -> None:
    """Each new cut is one event with transcript and view; the count before it is void."""
    policy = Newest(3)
    agent = scripted(call("look"), call("look"), text("ok"), tools=[look], context_policy=policy)
    seen = await events_of(Runner.stream(agent, "go"))
    (event,) = compacted(seen)
    assert [len(event.entries_before), len(event.entries_after)] == [5, 3]
    assert (event.reason, event.reactive, event.agent) == ("middle_snip", False, "bot")
    assert event.freed is not None
    assert event.freed > 0
    assert event.tokens_before_estimate == event.history_tokens_estimate
    assert event.entries_before == event.entries_before[:2] + event.entries_after


async def test_a_replayed_view_is_not_told_again() -> None:
    """A view that is the last one and what was appended since is no new compaction."""

    class CutOnce(Untouched):
        async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> ContextPolicyResult:
            head = ctx.state.setdefault("head", len(entries) - 1)
            return ContextPolicyResult(entries[head:], changed=head > 0)

    agent = scripted(*[call("look")] * 3, text("ok"), tools=[look], context_policy=CutOnce())
    start: Any = [InputEntry("user", "old"), InputEntry("user", "go")]
    assert len(compacted(await events_of(Runner.stream(agent, start)))) == 1


async def test_a_first_cut_among_new_entries_is_told() -> None:
    """A view that begins like the last one, and leaves out what came since, was cut anew."""

    class Hiding(Untouched):
        async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> ContextPolicyResult:
            shown: list[TranscriptEntry] = [
                entry for entry in entries if not isinstance(entry, ReasoningEntry)
            ]
            return ContextPolicyResult(shown, changed=len(shown) < len(entries))

    looks = call("look")
    thought = replace(looks, reasoning="Let me look.")
    script = [looks, thought, thought, text("ok")]
    agent = scripted(*script, tools=[look], context_policy=Hiding())
    seen = await events_of(Runner.stream(agent, "go"))
    cut = [len(event.entries_before) - len(event.entries_after) for event in compacted(seen)]
    assert cut == [1, 2]


async def test_a_bare_list_is_accepted_with_one_warning() -> None:
    """A policy that returns a list works; its class is warned about once, its summary found."""

    class Listing:
        async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> Any:
            return [InputEntry("user", "[Context summary]\n\nlong ago", "summary"), *entries[-1:]]

    agent = scripted(call("look"), text("ok"), tools=[look], context_policy=Listing())
    with pytest.warns(DeprecationWarning, match="Listing") as caught:
        seen = await events_of(Runner.stream(agent, "go"))
    assert len(caught) == 1
    assert compacted(seen)[0].summary == "long ago"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await Runner.run(scripted(text("ok"), context_policy=Listing()), "go")


async def test_a_policy_of_the_0_9_line_is_accepted() -> None:
    """A policy with `compact(req)` is asked, in its reactive form too, and its memory is kept."""
    seen: list[Any] = []

    class Old:
        async def compact(self, req: Any) -> Any:
            req.scratch["calls"] = req.scratch.get("calls", 0) + 1
            seen.append((req.scratch["calls"], req.overflow, req.reported_window))
            view = req.entries[-1:] if req.overflow else list(req.entries)
            return SimpleNamespace(entries=view, changed=req.overflow, compacted=req.overflow)

    provider = ScriptedProvider([call("look"), text("ok")], window=14)
    agent = scripted(provider=provider, tools=[look], context_policy=Old())
    agent.tools.clear()
    told = await events_of(Runner.stream(agent, "go"))
    assert [flags[1] for flags in seen].count(True) == 1
    assert [flags[0] for flags in seen] == list(range(1, len(seen) + 1))
    assert compacted(told)[0].reactive


async def test_live_progress_reaches_hooks_before_the_compaction_is_told() -> None:
    """Events that a policy tells while it works come before the one that sums it up."""

    class Telling(Newest):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.emit(events.CompactionStarted("p1", "threshold", 10))
            ctx.emit(events.CompactionEnded("compacted", "p1"))
            return await super().apply(entries, ctx=ctx)

    agent = scripted(call("look"), text("ok"), tools=[look], context_policy=Telling(2))
    seen = await events_of(Runner.stream(agent, "go"))
    names = [type(event).__name__ for event in seen if isinstance(event, events.ContextEvent)]
    assert names == [*["CompactionStarted", "CompactionEnded"] * 2, "ContextCompacted"]


async def test_policies_of_a_kind_share_their_memory_over_a_handoff() -> None:
    """The state of one policy class goes on with the next agent; another class has its own."""
    first, second, third = Untouched(), Untouched(), Newest(99)
    last = scripted(text("ok"), name="c", context_policy=third)
    other = scripted(call("transfer_to_c"), name="b", context_policy=second, handoffs=[last])
    await Runner.run(scripted(call("transfer_to_b"), context_policy=first, handoffs=[other]), "go")
    assert first.contexts[0].state is second.contexts[0].state
    assert first.contexts[0].state is not third.contexts[0].state


async def test_a_policy_of_the_run_replaces_those_of_the_agents() -> None:
    """`context_policy=` of one run is asked instead of the agents' own."""
    policy = Newest(1)
    agent = scripted(call("look"), text("ok"), tools=[look])
    await Runner.run(agent, "go", context_policy=policy)
    assert len(policy.contexts) == 2
    assert [len(request.entries) for request in provider_of(agent).requests] == [1, 1]
