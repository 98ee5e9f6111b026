"""One request and its answer, over every protocol, with the real SDKs."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from lovia import ModelSettings
from lovia.errors import ContextOverflowError, ProviderError
from lovia.providers import Provider
from lovia.transcript import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    TextDelta,
    ToolCallEntry,
    TranscriptEntry,
)
from lovia.usage import Usage
from tests.notation import A, C, S, T, U
from tests.providers.support import (
    CHAT,
    COMPATIBLE,
    MESSAGES,
    RESPONSES,
    WIRES,
    Wire,
    answered,
    ask,
    serving,
    tools,
)
from tests.providers.wire.script import CallTool, Failure, Refusal, Spent, Thought, says

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name),
]


async def test_an_answer_arrives_in_pieces(wire: Wire) -> None:
    """Text streams as it comes and is whole in the end; the instructions reach the vendor."""
    async with serving(wire, says("The tide comes in.")) as (server, provider):
        pieces = [d async for d in provider.stream([S("Be brief."), U("Tides?")])]
        texts = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
        assert len(texts) > 1
        assert "".join(texts) == "The tide comes in."
        assert "Be brief." in str(server.bodies[0])
        assert isinstance(provider, Provider)


async def test_parallel_calls_and_their_results_make_the_round(wire: Wire) -> None:
    """Several calls come back in order, and their results are accepted with what was thought."""
    first = says(Thought("Two at once."), "Looking.", CallTool("read", {"n": 1}), CallTool("list"))
    async with serving(wire, first, says("Both done.")) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        reply = await ask(provider, entries, tools=tools("read", "list"))
        assert reply.finish_reason == "tool_calls"
        assert [(call.name, call.arguments) for call in reply.calls] == [
            ("read", '{"n": 1}'),
            ("list", "{}"),
        ]
        assert [type(entry) for entry in reply.entries()] == [
            ReasoningEntry,
            AssistantTextEntry,
            ToolCallEntry,
            ToolCallEntry,
        ]
        second = await ask(provider, [*entries, *answered(reply)], tools=tools("read", "list"))
        assert (second.text, second.finish_reason) == ("Both done.", "stop")
        assert server.refusals == []


async def test_usage_means_the_same_for_every_vendor(wire: Wire) -> None:
    """The input is the whole prompt, what a cache served and stored included; parts are told."""
    spent = Spent(prompt=100, answer=20, read=60, written=30, thinking=8)
    async with serving(wire, says("Yes.", spent=spent)) as (_, provider):
        reply = await ask(provider, [U()])
        assert reply.usage == Usage(
            input_tokens=100,
            output_tokens=20,
            cache_read_tokens=60,
            cache_write_tokens=30,
            reasoning_tokens=8,
        )


@pytest.mark.parametrize("reason", ["stop", "length", "refusal", "content_filter"])
async def test_finish_reasons_have_one_vocabulary(wire: Wire, reason: str) -> None:
    """Whatever a vendor calls it, an answer ends with stop, length, refusal or content_filter."""
    chat = {"length": says("x", finish="length"), "refusal": says(Refusal("No."))}
    chat["content_filter"] = says("x", finish="content_filter")
    responses = {**chat, "length": says("x", finish="max_output_tokens")}
    messages = {"length": says("x", finish="max_tokens"), "refusal": says(finish="refusal")}
    words = {CHAT: chat, COMPATIBLE: chat, RESPONSES: responses, MESSAGES: messages}[wire]
    if reason != "stop" and reason not in words:
        pytest.skip("the vendor has no such reason")
    async with serving(wire, words.get(reason, says("x"))) as (_, provider):
        assert (await ask(provider, [U()])).finish_reason == reason


async def test_settings_reach_the_vendor(wire: Wire) -> None:
    """Sampling settings and options of the provider's own name are in the request, by its names."""
    protocol = "anthropic" if wire is MESSAGES else "openai"
    settings = ModelSettings(
        temperature=0.5,
        top_p=0.9,
        max_tokens=77,
        parallel_tool_calls=False,
        provider_options={protocol: {"metadata": {"user_id": "u1"}}, "other": {"seed": 1}},
    )
    older = {"model": "claude-sonnet-4-6"} if wire is MESSAGES else {}
    async with serving(wire, says("Yes."), options=older) as (server, provider):
        await ask(provider, [U()], tools=tools("read"), settings=settings)
        body = server.bodies[0]
        limit = {
            CHAT: "max_completion_tokens",
            COMPATIBLE: "max_tokens",
            RESPONSES: "max_output_tokens",
            MESSAGES: "max_tokens",
        }[wire]
        assert (body["temperature"], body["top_p"], body[limit]) == (0.5, 0.9, 77)
        assert body["metadata"] == {"user_id": "u1"}
        assert "seed" not in body
        if wire is MESSAGES:
            assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
        else:
            assert body["parallel_tool_calls"] is False


async def test_the_size_of_a_whole_conversation_does_not_matter(wire: Wire) -> None:
    """A long conversation with late, missing, repeated and odd calls is accepted as it is."""
    entries: list[TranscriptEntry] = [
        S("first"),
        S("second"),
        U(),
        C("same"),
        T("same"),
        A(""),
        U("and"),
        U("again"),
        C("same", "a tool.with: a bad name", "no json"),
        C("x" * 900),
        T("x" * 900, ""),
        T("same", "late"),
        InputEntry("developer", "Mind the gap."),
        C("never answered"),
        A("So far. \ud800"),
        InputEntry("system", "Speak up."),
        U(""),
    ]
    async with serving(wire, says("Fine.")) as (server, provider):
        assert (await ask(provider, entries)).text == "Fine."
        assert server.refusals == []


# What goes wrong.


@pytest.mark.parametrize("after", [0, 2, 4])
async def test_a_cut_connection_may_be_tried_again(wire: Wire, after: int) -> None:
    """A connection that breaks before the answer or inside it is a failure to retry."""
    async with serving(wire, says("One two three four five.", cut=after)) as (_, provider):
        with pytest.raises(ProviderError) as caught:
            await ask(provider, [U()])
        assert caught.value.retryable
        assert caught.value.vendor == provider.name


async def test_an_answer_without_an_end_is_none(wire: Wire) -> None:
    """A stream that ends politely before the vendor said so is a failure, not a short answer."""
    async with serving(wire, says("One two three four five.", end=4)) as (_, provider):
        with pytest.raises(ProviderError, match="middle of the answer") as caught:
            await ask(provider, [U()])
        assert caught.value.retryable


async def test_a_silent_stream_is_given_up(wire: Wire) -> None:
    """A server that sends nothing for the timeout is a failure to retry."""
    quiet = says("One two three.", stall=(3, 30.0))
    async with serving(wire, quiet, options={"timeout": 0.2}) as (_, provider):
        started = time.monotonic()
        with pytest.raises(ProviderError) as caught:
            await ask(provider, [U()])
        assert caught.value.retryable
        assert time.monotonic() - started < 5


async def test_garbage_in_a_stream_may_be_tried_again(wire: Wire) -> None:
    """An event that is no JSON is a failure to retry, and no crash."""
    async with serving(wire, says("One two three.", garbage=2)) as (_, provider):
        with pytest.raises(ProviderError, match="no answer") as caught:
            await ask(provider, [U()])
        assert caught.value.retryable


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (409, True), (429, True), (500, True), (529, True)],
)
async def test_a_status_tells_whether_to_retry(wire: Wire, status: int, retryable: bool) -> None:
    """The status and the wait that the vendor asked for are kept; the SDK retries nothing."""
    body = {"error": {"message": "Not now.", "type": "some_error"}}
    failure = Failure(status, body, headers=(("retry-after", "7"),))
    async with serving(wire, failure) as (server, provider):
        with pytest.raises(ProviderError, match="Not now") as caught:
            await ask(provider, [U()])
        error = caught.value
        assert (error.status_code, error.retryable, error.retry_after) == (status, retryable, 7.0)
        assert len(server.requests) == 1


async def test_an_error_inside_a_stream_is_raised(wire: Wire) -> None:
    """An error that the vendor reports after the answer has begun is a failure of its kind."""
    error = {"type": "overloaded_error", "code": "server_error", "message": "Overloaded"}
    report = {"type": "error", "error": error}
    async with serving(wire, says("One two three.", report=(3, report))) as (_, provider):
        with pytest.raises(ProviderError, match="Overloaded") as caught:
            await ask(provider, [U()])
        assert caught.value.retryable
        assert (caught.value.status_code or 0) >= 500


async def test_an_overflow_is_told_from_other_errors(wire: Wire) -> None:
    """A refusal for size carries the window that the vendor named, with any status or none."""
    text = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
    if wire is MESSAGES:
        text = "prompt is too long: 9000 tokens > 8192 maximum"
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    for answer in (Failure(400, body), says("One two.", report=(2, body)), Failure(200, body)):
        async with serving(wire, answer) as (_, provider):
            with pytest.raises(ContextOverflowError) as caught:
                await ask(provider, [U()])
            assert caught.value.reported_window == 8192
            assert not caught.value.retryable


async def test_an_answer_in_one_piece_is_refused(wire: Wire) -> None:
    """A server that does not stream is named as such."""
    async with serving(wire, Failure(200, {"choices": []})) as (_, provider):
        with pytest.raises(ProviderError, match="no stream") as caught:
            await ask(provider, [U()])
        assert not caught.value.retryable


async def test_leaving_early_closes_the_stream(wire: Wire) -> None:
    """Whoever stops reading an answer frees its connection; the provider goes on working."""
    words = says("word " * 50, stall=(5, 30.0))
    async with serving(wire, words, says("Yes.")) as (_, provider):
        async with aclosing(provider.stream([U()])) as deltas:
            async for delta in deltas:
                if isinstance(delta, TextDelta):
                    break
        assert (await ask(provider, [U()])).text == "Yes."


async def test_cancelling_is_prompt(wire: Wire) -> None:
    """A cancelled request ends at once, also while the server is silent."""
    async with serving(wire, says("word " * 50, stall=(2, 30.0))) as (_, provider):
        started = time.monotonic()
        with anyio.move_on_after(0.2) as scope:
            await ask(provider, [U()])
        assert scope.cancelled_caught
        assert time.monotonic() - started < 5


async def test_concurrent_requests_share_a_client(wire: Wire) -> None:
    """Requests that run side by side get their own answers."""
    replies: list[str] = []

    def echo(request: Any) -> Any:
        return says("seven" if "seven" in str(request.body) else "eight")

    async with serving(wire, echo) as (_, provider):

        async def one(word: str) -> None:
            replies.append((await ask(provider, [U(word)])).text)

        async with anyio.create_task_group() as group:
            for word in ("seven", "eight") * 4:
                group.start_soon(one, word)
    assert sorted(replies) == ["eight"] * 4 + ["seven"] * 4


async def test_no_call_has_two_results(wire: Wire) -> None:
    """Calls that share an id in one message are told apart, and each keeps its own result."""
    calls, results = [C("c", "one"), C("c", "two")], [T("c", "first"), T("c", "second")]
    entries: list[TranscriptEntry] = [U(), *calls, *results, T("nobody", "an orphan")]
    async with serving(wire, says("Fine.")) as (server, provider):
        await ask(provider, entries, tools=tools("one", "two"))
        assert server.refusals == []
        sent = str(server.bodies[0])
        assert sent.index("first") < sent.index("second") < sent.index("an orphan")
