"""The scripted provider."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import ContextOverflowError, InputEntry, ProviderError, Usage, UserError, user
from lovia.context.summarizer.prompts import system_prompt
from lovia.providers.reply import ModelReply
from lovia.testing import ScriptedProvider, batch, broken, call, text
from lovia.tokens.estimators import default_counter
from lovia.transcript.entries import (
    AssistantTextEntry,
    ReasoningEntry,
    ToolCallEntry,
    TranscriptEntry,
    text_of,
)

pytestmark = pytest.mark.anyio
ASK: list[TranscriptEntry] = [InputEntry("user", "go")]
SUMMARY_REQUEST: list[TranscriptEntry] = [
    InputEntry("system", system_prompt(200)),
    InputEntry("user", "long text"),
]
TOOLS = [
    {"type": "function", "function": {"name": "f", "description": "x" * 400, "parameters": {}}}
]


async def ask(
    provider: ScriptedProvider,
    entries: list[TranscriptEntry] = ASK,
    reply: ModelReply | None = None,
    **kwargs: Any,
) -> ModelReply:
    """Send a request and collect the answer."""
    reply = reply or ModelReply()
    async for delta in provider.stream(entries, **kwargs):
        reply.feed(delta)
    return reply


async def test_turns_are_answered_in_order() -> None:
    """Text, reasoning and calls come out as they were scripted, with default ids."""
    provider = ScriptedProvider(
        [
            text("hello there", reasoning="hm so"),
            call("f", {"a": 1}),
            call("f", "{raw", call_id="x"),
            batch(("f", {}), ("f", {"b": 2}, "mine")),
        ]
    )
    assert [(await ask(provider)).entries() for _ in range(4)] == [
        [ReasoningEntry("hm so", provider="scripted"), AssistantTextEntry("hello there")],
        [ToolCallEntry("call_f", "f", '{"a": 1}')],
        [ToolCallEntry("x", "f", "{raw")],
        [ToolCallEntry("call_0_f", "f", "{}"), ToolCallEntry("mine", "f", '{"b": 2}')],
    ]


async def test_it_remembers_what_it_was_sent() -> None:
    """Each request is kept as it was, with tools and settings."""
    provider, sent = ScriptedProvider([text("a"), text("b")]), list(ASK)
    await ask(provider, sent, tools=TOOLS)
    sent.append(InputEntry("user", "more"))
    await ask(provider, sent)
    assert [request.entries for request in provider.requests] == [ASK, sent]
    assert provider.calls == [[user("go")], [user("go"), user("more")]]
    assert [len(request.tools) for request in provider.requests] == [1, 0]
    assert provider.requests[0].tokens > provider.requests[1].tokens


@pytest.mark.parametrize("error", [ProviderError("down"), ProviderError])
async def test_errors_are_raised(error: Any) -> None:
    """An error in the script is raised before anything is streamed."""
    reply = ModelReply()
    with pytest.raises(ProviderError):
        await ask(ScriptedProvider([error]), ASK, reply)
    assert reply.entries() == []


async def test_a_stream_can_break() -> None:
    """A broken turn streams its content and then raises."""
    reply = ModelReply()
    provider = ScriptedProvider([broken(text("half"), ProviderError("cut"))])
    with pytest.raises(ProviderError):
        await ask(provider, ASK, reply)
    assert reply.text == "half"


async def test_functions_see_the_request() -> None:
    """A function in the script, sync or async, decides when it knows the request."""

    async def later(request: Any) -> str:
        return f"{len(request.entries)} entries"

    provider = ScriptedProvider([lambda request: text(text_of(request.entries[0])), later])
    assert (await ask(provider)).text == "go"
    assert (await ask(provider)).text == "1 entries"


async def test_a_used_up_script_says_so() -> None:
    """One call too many gets an error that says how long the script is and what to do."""
    with pytest.raises(UserError, match="it has 0 turns") as caught:
        await ask(ScriptedProvider([]))
    assert caught.value.hint


async def test_an_item_that_is_no_turn_is_named() -> None:
    """Something else in the script is refused when its turn comes."""
    items: Any = [7]
    with pytest.raises(UserError, match="7 is no turn"):
        await ask(ScriptedProvider(items))


async def test_the_window_refuses_large_requests() -> None:
    """A request over the window, its tools counted, is refused with the window; the turn stays."""
    size = default_counter().entries(ASK)
    provider = ScriptedProvider([text("ok")], window=size)
    with pytest.raises(ContextOverflowError) as caught:
        await ask(provider, tools=TOOLS)
    assert caught.value.reported_window == size == provider.context_window()
    assert (await ask(provider)).text == "ok"
    assert len(provider.requests) == 2


async def test_usage_is_fixed_counted_computed_or_absent() -> None:
    """What a call reports is one usage for all, counted sizes, a function's, or nothing."""
    size = default_counter().entries(ASK)

    async def usage(**options: Any) -> Usage | None:
        return (await ask(ScriptedProvider([text("two words")], **options))).usage

    assert await usage() == Usage(input_tokens=1, output_tokens=1)
    counted = await usage(usage="counted")
    assert counted is not None
    assert counted.input_tokens == size
    assert counted.output_tokens == default_counter().entries([AssistantTextEntry("two words")])
    assert await usage(usage=lambda request, _turn: Usage(request.tokens * 2)) == Usage(size * 2)
    assert await usage(usage=None) is None


async def test_summaries_are_answered_beside_the_script() -> None:
    """A request for a summary takes its own answer and leaves the script for turns."""
    provider = ScriptedProvider(
        [text("turn")], summarize=lambda request: f"of {len(request.entries)}"
    )
    assert (await ask(provider, SUMMARY_REQUEST)).text == "of 2"
    assert (await ask(provider)).text == "turn"
    assert [request.is_summary for request in provider.requests] == [True, False]


async def test_summary_requests_can_be_told_by_a_function() -> None:
    """Another summarizer's requests are recognised by a function of one's own."""
    provider = ScriptedProvider([], summarize="short", is_summary=lambda entries: entries == ASK)
    assert (await ask(provider)).text == "short"
