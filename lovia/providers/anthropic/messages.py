"""Anthropic Messages."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from lovia.providers.anthropic.cache import CacheLifetime, mark_for_cache
from lovia.providers.anthropic.request import (
    messages_request,
    tool_choice,
    without_impossible_thinking,
)
from lovia.providers.anthropic.stream import MessagesReader
from lovia.providers.anthropic.traits import binds_thoughts, longest_answer, takes_instructions
from lovia.providers.clients import load_sdk
from lovia.providers.options import request_arguments
from lovia.providers.sdk import Endpoint, PreparedRequest, SDKProvider, address_of
from lovia.providers.windows import anthropic_window
from lovia.providers.wire.conversation import conversation_of
from lovia.providers.wire.names import CallIds, ToolNames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia.providers.base import ModelSettings
    from lovia.transcript.entries import ReasoningEntry, TranscriptEntry

__all__ = ["AnthropicProvider"]

_BASE_URL: Final = "https://api.anthropic.com"
_VENDOR: Final = "anthropic"
_HOST: Final = "anthropic.com"
_CALL_IDS: Final = r"[a-zA-Z0-9_-]{1,64}"


class AnthropicProvider(SDKProvider):
    """A model behind the Messages protocol (extra ``anthropic``).

    Args:
        model: The model's name.
        base_url: The server's address; ``ANTHROPIC_BASE_URL`` or Anthropic's own by default.
        api_key: The key; by default what the SDK finds: ``ANTHROPIC_API_KEY``,
            ``ANTHROPIC_AUTH_TOKEN`` or a profile.
        name: The vendor's short name.
        context_window: How many prompt tokens the model takes, where nobody knows it by name.
        official_dialect: Whether the server is Anthropic's, or passes requests on to it; told from
            the address by default. Others are sent no system messages after the beginning, no
            schemas, and no thoughts but their own.
        supports_json_schema: Whether a requested output type is sent as a schema; by default where
            the dialect is Anthropic's.
        cache: How long the vendor keeps what it has read of a prompt: ``5m``, ``1h``, or ``None``
            for no prompt cache.
        timeout: Seconds without a byte from the server, before the answer and inside it.
        default_headers: Sent with every request.
        extra_body: Fields laid over every request's body.
        client: An ``anthropic.AsyncAnthropic`` of your own, such as ``AsyncAnthropicBedrock``; it
            brings its own key, address and timeout.
    """

    sdk: ClassVar[str] = "anthropic"
    client_class: ClassVar[str] = "AsyncAnthropic"

    def __init__(  # noqa: PLR0913 - one keyword a trait of the endpoint
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        name: str = _VENDOR,
        context_window: int | None = None,
        official_dialect: bool | None = None,
        supports_json_schema: bool | None = None,
        cache: CacheLifetime | None = "5m",
        timeout: float = 600.0,
        default_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        client: Any = None,
    ) -> None:
        address = address_of(base_url, client, "ANTHROPIC_BASE_URL", _BASE_URL)
        super().__init__(
            model,
            endpoint=Endpoint.of(address, api_key, timeout, default_headers),
            client=client,
            context_window=context_window,
            extra_body=extra_body,
        )
        host = urlsplit(address).hostname or ""
        is_vendor = host == _HOST or host.endswith(f".{_HOST}")
        self.name: str = name
        self._official = is_vendor if official_dialect is None else official_dialect
        # The vendor's clouds read each other's thoughts; other servers of the protocol do not.
        self._origin = _VENDOR if self._official or client is not None else host
        self._cache = cache
        self.supports_json_schema: bool = (
            self._official if supports_json_schema is None else supports_json_schema
        )

    def _known_window(self) -> int | None:
        return anthropic_window(self._model) if self._origin == _VENDOR else None

    def _client_options(self) -> dict[str, Any]:
        # A newer SDK would open a span of its own inside each of ours.
        known = signature(load_sdk(self.sdk).AsyncAnthropic).parameters
        return {"open_telemetry": False} if "open_telemetry" in known else {}

    def _prepare(
        self,
        entries: Sequence[TranscriptEntry],
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        settings: ModelSettings,
    ) -> PreparedRequest:
        conversation = conversation_of(entries, ids=CallIds(_CALL_IDS), owns=self._is_own)
        request = messages_request(
            conversation,
            tools=tools,
            binds_thoughts=binds_thoughts(self._model),
            takes_instructions=self._official and takes_instructions(self._model),
        )
        if self._cache is not None:
            mark_for_cache(request.body, self._cache)
        body = {**self._settings(settings, tools, response_format), **request.body}
        arguments = request_arguments(
            body,
            settings,
            extra_body=self._extra_body,
            names=(_VENDOR, self.name),
            typed=("model", "max_tokens", "stream"),
            bulk="messages",
        )
        without_impossible_thinking(arguments["extra_body"])
        reader = MessagesReader(
            self.name,
            self._model,
            origin=self._origin,
            names=ToolNames(tools),
            prefix=request.prefix,
        )
        return PreparedRequest(arguments, reader)

    def _settings(
        self,
        settings: ModelSettings,
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": settings.max_tokens or longest_answer(self._model),
            "stream": True,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "stop_sequences": list(settings.stop) if settings.stop else None,
            "tool_choice": tool_choice(settings) if tools else None,
            "output_config": self._output_config(response_format),
        }
        return {key: value for key, value in body.items() if value is not None}

    def _output_config(self, response_format: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the schema of the answer, reduced to what the vendor holds a model to."""
        wanted = (response_format or {}).get("json_schema")
        if not isinstance(wanted, dict):
            return None
        reduced = getattr(load_sdk(self.sdk), "transform_schema", dict)  # dict: an older SDK
        return {"format": {"type": "json_schema", "schema": reduced(wanted["schema"])}}

    def _resource(self, client: Any) -> Any:
        return client.messages

    def _is_own(self, thought: ReasoningEntry) -> bool:
        """Tell whether this server can read it: the vendor by its signature, others as it is."""
        return thought.provider == self._origin and bool(
            thought.signature or self._origin != _VENDOR
        )
