"""OpenAI Chat Completions: OpenAI's own models, and those of everybody who speaks the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from lovia.providers.openai.base import OpenAIProvider
from lovia.providers.openai.chat_request import CALL_EXTRAS, DETAILS, FIELD, chat_body
from lovia.providers.openai.chat_stream import ChatReader
from lovia.providers.options import request_arguments
from lovia.providers.sdk import PreparedRequest
from lovia.providers.wire.conversation import conversation_of
from lovia.providers.wire.names import CallIds, ToolNames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia.providers.base import ModelSettings
    from lovia.providers.openai.base import OpenAIKeywords
    from lovia.providers.openai.dialect import ChatDialect
    from lovia.transcript.entries import ReasoningEntry, TranscriptEntry

__all__ = ["OpenAIChatProvider"]


class OpenAIChatProvider(OpenAIProvider):
    """A model behind the Chat Completions protocol (extra ``openai``).

    Args:
        model: The model's name.
        base_url: The server's address; ``OPENAI_BASE_URL`` or OpenAI's own by default.
        api_key: The key; ``OPENAI_API_KEY`` by default.
        name: The vendor's short name; told from the address by default.
        context_window: How many prompt tokens the model takes, where nobody knows it by name.
        supports_json_schema: Whether a requested output type is sent as a schema; told from the
            address by default.
        dialect: What the server takes; told from the address by default.
        timeout: Seconds without a byte from the server, before the answer and inside it.
        default_headers: Sent with every request.
        extra_body: Fields laid over every request's body.
        client: An ``openai.AsyncOpenAI`` of your own, such as ``AsyncAzureOpenAI``; it brings its
            own key, address and timeout.
    """

    def __init__(
        self,
        model: str,
        *,
        supports_json_schema: bool | None = None,
        dialect: ChatDialect | None = None,
        **endpoint: Unpack[OpenAIKeywords],
    ) -> None:
        super().__init__(model, **endpoint)
        self.dialect: ChatDialect = dialect or self._host.dialect
        self.supports_json_schema: bool = (
            self.dialect.json_schema if supports_json_schema is None else supports_json_schema
        )

    def _prepare(
        self,
        entries: Sequence[TranscriptEntry],
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        settings: ModelSettings,
    ) -> PreparedRequest:
        conversation = conversation_of(
            entries, ids=CallIds(self.dialect.call_ids), owns=self._is_own
        )
        body = chat_body(
            self._model,
            conversation,
            self.dialect,
            tools=tools,
            response_format=response_format,
            settings=settings,
        )
        arguments = request_arguments(
            body,
            settings,
            extra_body=self._extra_body,
            names=("openai", self.name),
            typed=("model", "stream"),
            bulk="messages",
        )
        names = ToolNames(tools)
        return PreparedRequest(
            arguments, ChatReader(self.name, self._model, origin=self._origin, names=names)
        )

    def _resource(self, client: Any) -> Any:
        return client.chat.completions

    def _is_own(self, thought: ReasoningEntry) -> bool:
        """Tell whether this server's model thought it, in this protocol, and takes it back."""
        if not self.dialect.thoughts or thought.provider != self._origin:
            return False
        return any(key in thought.metadata for key in (FIELD, DETAILS, CALL_EXTRAS))
