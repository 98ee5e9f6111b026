"""Tests of Messages: thoughts bound to their place, the prompt cache, and what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import ModelSettings
from lovia.transcript import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    ToolResultEntry,
    TranscriptEntry,
    entries_from_json,
    entries_to_json,
)
from tests.notation import A, C, S, T, U
from tests.providers.support import MESSAGES, answered, ask, serving, tools
from tests.providers.wire.script import CallTool, Redacted, Text, Thought, says

if TYPE_CHECKING:
    from lovia.providers.sdk import SDKProvider
    from tests.providers.wire.server import WireServer

pytestmark = pytest.mark.anyio

OLDER = {"model": "claude-sonnet-4-6"}
LOOK = tools("look")
THINKS = says(Thought("Look it up."), "Let me see.", CallTool("look"))


def kinds(body: dict[str, Any]) -> list[list[str]]:
    """Return the types of the blocks of each message."""
    return [[block["type"] for block in message["content"]] for message in body["messages"]]


async def grown(provider: SDKProvider, entries: list[TranscriptEntry], turns: int) -> None:
    """Let the model call its tool so many times."""
    for _ in range(turns):
        reply = await ask(provider, entries, tools=LOOK)
        entries.extend(answered(reply))


async def test_thoughts_go_round_with_their_signatures() -> None:
    """Signed, redacted and empty thoughts are sent again as they came, between what they led to."""
    first = says(Thought("One."), Redacted(), Text("Hm."), Thought(""), CallTool("look"))
    async with serving(MESSAGES, first, says("Done.")) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        await grown(provider, entries, 1)
        saved = entries_from_json(entries_to_json(entries))
        assert (await ask(provider, saved, tools=LOOK)).text == "Done."
        assert server.refusals == []
        sent = ["thinking", "redacted_thinking", "text", "thinking", "tool_use"]
        assert kinds(server.bodies[1])[1] == sent


async def test_a_thought_stays_behind_when_what_stood_before_it_changes() -> None:
    """After an edit, thoughts from before it and new ones are sent; those behind it are not."""
    async with serving(MESSAGES, THINKS) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        await grown(provider, entries, 3)
        edited = list(entries)
        result = next(i for i in range(5, len(edited)) if isinstance(edited[i], ToolResultEntry))
        second = next(
            i for i in range(result + 1, len(edited)) if isinstance(edited[i], ToolResultEntry)
        )
        edited[second] = T(edited[second].call_id, "(cleared)")  # type: ignore[union-attr] # a result
        reply = await ask(provider, edited, tools=LOOK)
        thoughts = ["thinking" in blocks for blocks in kinds(server.bodies[-1])[1::2]]
        assert thoughts == [True, True, False]
        edited.extend(answered(reply))
        await ask(provider, edited, tools=LOOK)
        thoughts = ["thinking" in blocks for blocks in kinds(server.bodies[-1])[1::2]]
        assert thoughts == [True, True, False, True]
        assert server.refusals == []


@pytest.mark.parametrize("change", ["system", "tools", "summary"])
async def test_another_head_leaves_all_thoughts_behind(change: str) -> None:
    """With another prompt, other tools or a summary in front, no earlier thought is sent."""
    async with serving(MESSAGES, THINKS) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        await grown(provider, entries, 2)
        offered = LOOK
        if change == "system":
            entries[0] = S("You are somebody else.")
        elif change == "tools":
            offered = tools("look", "find")
        else:
            entries[1:3] = [InputEntry("user", "what was", origin="summary"), U()]
        await ask(provider, entries, tools=offered)
        assert not any("thinking" in blocks for blocks in kinds(server.bodies[-1]))
        assert server.refusals == []


async def test_older_models_keep_their_thoughts_through_an_edit() -> None:
    """A model that does not mind what stood before a thought gets all of its thoughts again."""
    async with serving(MESSAGES, THINKS, options=OLDER) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        await grown(provider, entries, 2)
        entries[0] = S("You are somebody else.")
        await ask(provider, entries, tools=LOOK)
        assert sum("thinking" in blocks for blocks in kinds(server.bodies[-1])) == 2
        assert server.refusals == []


async def test_foreign_thoughts_are_left_out() -> None:
    """Another vendor's thoughts, and a thought without a signature, are not sent."""
    entries: list[TranscriptEntry] = [
        U(),
        ReasoningEntry("foreign", provider="openai", signature="x"),
        ReasoningEntry("unsigned", provider="anthropic"),
        A(),
        U(),
    ]
    async with serving(MESSAGES, says("Yes."), options=OLDER) as (server, provider):
        await ask(provider, entries)
        assert kinds(server.bodies[0]) == [["text"], ["text"], ["text"]]


async def test_a_thinking_budget_yields_to_calls_without_a_thought() -> None:
    """Behind calls of another vendor's model a budget would be refused; afterwards it is sent."""
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
    settings = ModelSettings(provider_options={"anthropic": thinking})
    entries: list[TranscriptEntry] = [U(), C("c"), T("c")]
    async with serving(MESSAGES, says("Yes."), options=OLDER) as (server, provider):
        await ask(provider, entries, tools=LOOK, settings=settings)
        assert "thinking" not in server.bodies[0]
        await ask(provider, [*entries, A(), U()], tools=LOOK, settings=settings)
        assert server.bodies[1]["thinking"]["budget_tokens"] == 2_000


def marks(server: WireServer, index: int) -> list[str]:
    """Return where a request is marked for the cache: the place and the text of each block."""
    body = server.bodies[index]
    places = [("tools", t) for t in body.get("tools", [])]
    places += [("system", b) for b in body.get("system", [])]
    for number, message in enumerate(body["messages"]):
        places += [(f"{number}", block) for block in message["content"]]
    return [place for place, block in places if "cache_control" in block]


async def test_the_cache_is_marked_where_requests_end() -> None:
    """Marks stand behind the prompt, where the last request ended and where this one does."""
    async with serving(MESSAGES, THINKS) as (server, provider):
        entries: list[TranscriptEntry] = [S(), U()]
        await grown(provider, entries, 3)
        assert [marks(server, n) for n in range(3)] == [
            ["system", "0"],
            ["system", "0", "2"],
            ["system", "2", "4"],
        ]


@pytest.mark.parametrize(
    ("cache", "mark"),
    [("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"}), (None, None)],
)
async def test_the_cache_lives_as_long_as_asked(cache: str | None, mark: Any) -> None:
    """The lifetime is in every mark; without a cache there is none."""
    async with serving(MESSAGES, says("Yes."), options={"cache": cache}) as (server, provider):
        await ask(provider, [U()], tools=LOOK)
        assert server.bodies[0]["tools"][-1].get("cache_control") == mark


async def test_calls_without_tools_get_stand_ins() -> None:
    """An agent without tools can go on in a conversation with calls; it cannot make any."""
    async with serving(MESSAGES, says("Yes.")) as (server, provider):
        await ask(provider, [U(), C("c", "look up"), T("c"), A(), U()])
        body = server.bodies[0]
        assert body["tool_choice"] == {"type": "none"}
        assert [tool["name"] for tool in body["tools"]] == [
            body["messages"][1]["content"][0]["name"]
        ]


async def test_later_system_messages_go_where_they_may() -> None:
    """At the end of what was heard a system message is one; elsewhere it is marked text."""
    entries: list[TranscriptEntry] = [
        S(),
        U("hi"),
        S("be quick"),
        A(),
        S("be kind"),
        U("more"),
        S("be brief"),
        S("!"),
    ]
    async with serving(MESSAGES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        messages = server.bodies[0]["messages"]
        assert [m["role"] for m in messages] == ["user", "system", "assistant", "user", "system"]
        assert messages[3]["content"][0]["text"] == "[System message]\n\nbe kind"
        assert messages[4]["content"][0]["text"] == "be brief\n\n!"
    async with serving(MESSAGES, says("Yes."), options=OLDER) as (server, provider):
        await ask(provider, entries)
        assert [m["role"] for m in server.bodies[0]["messages"]] == ["user", "assistant", "user"]


async def test_images_and_files_are_sent_as_the_vendor_can() -> None:
    """Images and documents go by bytes, address or id, in results as well; others are named."""
    parts: list[ContentPart] = [
        ImagePart(data="aGk=", mime_type="image/png"),
        ImagePart(url="https://x.test/a.png"),
        ImagePart(data="Qk0=", mime_type="image/bmp"),
        FilePart(data="aGk=", mime_type="text/plain", filename="a.txt"),
        FilePart(data="JVBE", mime_type="application/pdf"),
        FilePart(data="UEs=", mime_type="application/zip", filename="a.zip"),
        FilePart(url="file-id:f1"),
    ]
    result = ToolResultEntry("c", "seen", parts=parts)
    entries: list[TranscriptEntry] = [InputEntry("user", parts), C("c"), result]
    async with serving(MESSAGES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        sources = ["base64", "url", None, "text", "base64", None, "file"]
        heard, _, results = server.bodies[0]["messages"]
        assert [b.get("source", {}).get("type") for b in heard["content"]] == sources
        inner = results["content"][0]["content"]
        assert [b.get("source", {}).get("type") for b in inner] == [None, *sources]


async def test_what_a_failed_tool_shows_stands_beside_its_result() -> None:
    """The vendor takes text alone in a result that is an error, so images follow it."""
    picture = ImagePart(data="aGk=", mime_type="image/png")
    entries: list[TranscriptEntry] = [
        U(),
        C("c"),
        ToolResultEntry("c", "broken", is_error=True, parts=[picture]),
    ]
    async with serving(MESSAGES, says("Yes.")) as (server, provider):
        await ask(provider, entries)
        assert kinds(server.bodies[0])[2] == ["tool_result", "text", "image"]
        assert server.bodies[0]["messages"][2]["content"][0]["is_error"] is True


async def test_arguments_keep_their_order_and_blocks_theirs() -> None:
    """An answer's blocks come out in the order in which the model made them."""
    made = says("One.", CallTool("look", {"b": 1, "a": 2}), Text("Two."), CallTool("look", ""))
    async with serving(MESSAGES, made) as (_, provider):
        reply = await ask(provider, [U()], tools=LOOK)
        told = [
            entry.content if isinstance(entry, AssistantTextEntry) else entry.arguments  # type: ignore[union-attr] # texts and calls
            for entry in reply.entries()
        ]
        assert told == ["One.", '{"b": 1, "a": 2}', "Two.", "{}"]


async def test_the_sdk_opens_no_spans_of_its_own(telemetry: Any) -> None:
    """One model call is one span, and that is the runtime's to open."""
    from opentelemetry import trace

    provider_before = trace._TRACER_PROVIDER
    try:
        trace._TRACER_PROVIDER = telemetry.tracer_provider
        async with serving(MESSAGES, says("Yes.")) as (_, provider):
            await ask(provider, [U()])
    finally:
        trace._TRACER_PROVIDER = provider_before
    assert telemetry.spans == {}
