"""Tests of Responses: thoughts that go round encrypted, and what is sent."""

from __future__ import annotations

import pytest

from lovia import ModelSettings
from lovia.errors import ProviderError, UserError
from lovia.providers.openai.responses_stream import ResponsesReader
from lovia.providers.wire.names import ToolNames
from lovia.transcript import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    ToolResultEntry,
    TranscriptEntry,
    UsageDelta,
)
from lovia.usage import Usage
from tests.notation import C, S, T, U
from tests.providers.support import RESPONSES, answered, ask, serving, tools
from tests.providers.wire.script import CallTool, Thought, says

pytestmark = pytest.mark.anyio


async def test_thoughts_go_round_encrypted() -> None:
    """A thought comes back with its encrypted text and id, and is sent again as it was."""
    first = says(Thought("Look it up."), CallTool("look"), Thought(""), CallTool("look"))
    async with serving(RESPONSES, first, says("Done.")) as (server, provider):
        entries: list[TranscriptEntry] = [U()]
        reply = await ask(provider, entries, tools=tools("look"))
        thought = reply.entries()[0]
        assert isinstance(thought, ReasoningEntry)
        assert (thought.content, thought.provider) == ("Look it up.", "127.0.0.1")
        assert thought.signature is not None
        await ask(provider, [*entries, *answered(reply)], tools=tools("look"))
        kinds = [item["type"] for item in server.bodies[1]["input"]]
        assert kinds == [
            "message",
            "reasoning",
            "function_call",
            "reasoning",
            "function_call",
            "function_call_output",
            "function_call_output",
        ]
        assert server.bodies[1]["include"] == ["reasoning.encrypted_content"]
        assert server.bodies[1]["store"] is False


async def test_thoughts_of_others_and_without_an_answer_are_left_out() -> None:
    """Thoughts of another server, open ones and ones that led nowhere are not sent."""
    entries: list[TranscriptEntry] = [
        U(),
        ReasoningEntry("foreign", provider="anthropic", signature="x"),
        ReasoningEntry("open", provider="127.0.0.1"),
        AssistantTextEntry("So."),
        ReasoningEntry("and then?", provider="127.0.0.1", signature="enc"),
        U(),
    ]
    async with serving(RESPONSES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        assert [item["type"] for item in server.bodies[0]["input"]] == ["message"] * 3


async def test_results_may_hold_images_and_files() -> None:
    """This protocol takes images and files in results, and files by address."""
    parts: list[ContentPart] = [
        ImagePart(data="aGk=", mime_type="image/png"),
        FilePart(url="https://x.test/a.pdf"),
        FilePart(data="JVBE", mime_type="application/pdf", filename="a.pdf"),
        ImagePart(url="file-id:f1"),
    ]
    entries: list[TranscriptEntry] = [U(), C("c"), ToolResultEntry("c", "a chart", parts=parts)]
    async with serving(RESPONSES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        output = server.bodies[0]["input"][2]["output"]
        assert [part["type"] for part in output] == [
            "input_text",
            "input_image",
            "input_file",
            "input_file",
            "input_image",
        ]
        assert output[2]["file_url"] == "https://x.test/a.pdf"
        assert output[4]["file_id"] == "f1"


async def test_instructions_lead_and_later_ones_keep_their_place() -> None:
    """The leading block is the instructions; later system and developer messages are items."""
    entries: list[TranscriptEntry] = [
        S("be good"),
        U("hi"),
        InputEntry("developer", "be quick"),
        U("well?"),
    ]
    async with serving(RESPONSES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        body = server.bodies[0]
        assert body["instructions"] == "be good"
        assert [item["role"] for item in body["input"]] == ["user", "developer", "user"]


async def test_tools_are_strict_when_they_say_so() -> None:
    """The protocol makes tools strict unless it is told not to, so it is always told."""
    offered = [*tools("a"), *tools("b", strict=True)]
    async with serving(RESPONSES, says("Yes.")) as (server, provider):
        await ask(provider, [U()], tools=offered)
        assert [tool["strict"] for tool in server.bodies[0]["tools"]] == [False, True]


async def test_stop_sequences_are_refused() -> None:
    """A setting that the protocol does not have is an error, not something to ignore."""
    async with serving(RESPONSES, says("Yes.")) as (server, provider):
        with pytest.raises(UserError, match="stop sequences"):
            await ask(provider, [U()], settings=ModelSettings(stop=["END"]))
        assert server.requests == []


async def test_models_that_do_not_think_are_not_asked_to() -> None:
    """Older models refuse a request for encrypted thoughts, so it is left out."""
    async with serving(RESPONSES, says("Yes."), options={"model": "gpt-4o"}) as (server, provider):
        await ask(provider, [U(), C("c"), T("c")])
        assert "include" not in server.bodies[0]


async def test_what_a_failed_answer_spent_counts() -> None:
    """The vendor reports it beside the error, and the account is charged for it."""
    reader = ResponsesReader("vendor", "m", origin="host", names=ToolNames([]))
    spent = {"input_tokens": 7, "output_tokens": 2}
    failed = {"error": {"code": "server_error", "message": "no"}, "usage": spent}
    told: list[object] = []
    deltas = reader.feed({"type": "response.failed", "response": failed})
    with pytest.raises(ProviderError, match="no"):
        told.extend(deltas)  # keeps what came before the error
    assert told == [UsageDelta(Usage(input_tokens=7, output_tokens=2))]
