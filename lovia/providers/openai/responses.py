"""OpenAI Responses, without anything stored at the vendor's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.providers.openai.base import OpenAIProvider
from lovia.providers.openai.responses_request import responses_body
from lovia.providers.openai.responses_stream import ResponsesReader
from lovia.providers.options import request_arguments
from lovia.providers.sdk import PreparedRequest
from lovia.providers.wire.conversation import conversation_of
from lovia.providers.wire.names import CallIds, ToolNames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia.providers.base import ModelSettings
    from lovia.transcript.entries import ReasoningEntry, TranscriptEntry

__all__ = ["OpenAIResponsesProvider"]

_CALL_IDS = r"[a-zA-Z0-9_-]{1,64}"


class OpenAIResponsesProvider(OpenAIProvider):
    """A model behind the Responses protocol (extra ``openai``).

    The whole conversation is sent each time and nothing is stored; the model's thoughts come back
    encrypted and are sent again, so that it can go on thinking where it was.

    Args:
        model: The model's name.
        base_url: The server's address; ``OPENAI_BASE_URL`` or OpenAI's own by default.
        api_key: The key; ``OPENAI_API_KEY`` by default.
        name: The vendor's short name; told from the address by default.
        context_window: How many prompt tokens the model takes, where nobody knows it by name.
        timeout: Seconds without a byte from the server, before the answer and inside it.
        default_headers: Sent with every request.
        extra_body: Fields laid over every request's body.
        client: An ``openai.AsyncOpenAI`` of your own; it brings its own key, address and timeout.
    """

    supports_json_schema: bool = True

    def _prepare(
        self,
        entries: Sequence[TranscriptEntry],
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        settings: ModelSettings,
    ) -> PreparedRequest:
        conversation = conversation_of(entries, ids=CallIds(_CALL_IDS), owns=self._is_own)
        body = responses_body(
            self._model,
            conversation,
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
            bulk="input",
        )
        names = ToolNames(tools)
        return PreparedRequest(
            arguments, ResponsesReader(self.name, self._model, origin=self._origin, names=names)
        )

    def _resource(self, client: Any) -> Any:
        return client.responses

    def _is_own(self, thought: ReasoningEntry) -> bool:
        """Tell whether this server can read it; a thought that is not encrypted was never sent."""
        return thought.provider == self._origin and bool(thought.signature)
