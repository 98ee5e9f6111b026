"""The adapters at the local server: one `Wire` for each protocol, and ways to ask."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lovia.providers import ModelReply
from lovia.providers.anthropic import AnthropicProvider
from lovia.providers.clients import close_clients
from lovia.providers.openai import (
    OPENAI_DIALECT,
    OpenAIChatProvider,
    OpenAIResponsesProvider,
)
from lovia.transcript import ToolCallEntry, ToolResultEntry, TranscriptEntry
from tests.providers.wire.server import WireServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from lovia.providers.sdk import SDKProvider


@dataclass(frozen=True)
class Wire:
    """One protocol, and the adapter that speaks it."""

    name: str
    make: Callable[..., SDKProvider]
    model: str
    official: bool
    prefix: str  # of the server's address

    def provider(self, server: WireServer, **options: Any) -> SDKProvider:
        """Return a provider that talks to the server."""
        settings = {"base_url": server.url + self.prefix, "api_key": "a-key", **options}
        return self.make(settings.pop("model", self.model), **settings)


def _chat(model: str, **options: Any) -> SDKProvider:
    return OpenAIChatProvider(model, **{"dialect": OPENAI_DIALECT, **options})


def _messages(model: str, **options: Any) -> SDKProvider:
    return AnthropicProvider(model, **{"official_dialect": True, **options})


CHAT = Wire("chat", _chat, "gpt-5.5", official=True, prefix="/v1")
COMPATIBLE = Wire("compatible", OpenAIChatProvider, "some-model", official=False, prefix="/v1")
RESPONSES = Wire("responses", OpenAIResponsesProvider, "gpt-5.5", official=True, prefix="/v1")
MESSAGES = Wire("messages", _messages, "claude-opus-5-5", official=True, prefix="")
WIRES = (CHAT, COMPATIBLE, RESPONSES, MESSAGES)


@asynccontextmanager
async def serving(
    wire: Wire, *script: Any, options: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[tuple[WireServer, SDKProvider]]:
    """Run the server, with a provider that talks to it; every connection is closed afterwards."""
    with WireServer(*script, official=wire.official, **settings) as server:
        try:
            yield server, wire.provider(server, **(options or {}))
        finally:
            await close_clients()


async def ask(
    provider: SDKProvider, entries: Sequence[TranscriptEntry], **settings: Any
) -> ModelReply:
    """Send one request and take in the whole answer."""
    reply = ModelReply()
    async with aclosing(provider.stream(entries, **settings)) as deltas:
        async for delta in deltas:
            reply.feed(delta)
    return reply


def tools(*names: str, **function: Any) -> list[dict[str, Any]]:
    """Return schemas of tools without parameters."""
    schema = {"type": "object", "properties": {}}
    return [
        {
            "type": "function",
            "function": {"name": name, "description": "", "parameters": schema, **function},
        }
        for name in names
    ]


def answered(reply: ModelReply, output: str = "found it") -> list[TranscriptEntry]:
    """Return what a reply adds to a transcript when all of its calls are answered."""
    calls = [entry for entry in reply.entries() if isinstance(entry, ToolCallEntry)]
    return [*reply.entries(), *(ToolResultEntry(call.call_id, output) for call in calls)]
