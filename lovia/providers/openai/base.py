"""What the adapters of OpenAI's two protocols have in common: where requests go, by which name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict

from lovia.providers.openai.dialect import host_of
from lovia.providers.sdk import Endpoint, SDKProvider, address_of, setting
from lovia.providers.windows import openai_window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.providers.openai.dialect import Host

__all__ = ["OpenAIKeywords", "OpenAIProvider"]

_BASE_URL: Final = "https://api.openai.com/v1"
# Sent to a server of one's own, which usually asks for none; one that does answers 401.
_NO_KEY: Final = "none"


class OpenAIKeywords(TypedDict, total=False):
    """The keyword arguments that the providers of both protocols take."""

    base_url: str | None
    api_key: str | None
    name: str | None
    context_window: int | None
    timeout: float
    default_headers: Mapping[str, str] | None
    extra_body: Mapping[str, Any] | None
    client: Any


class OpenAIProvider(SDKProvider):
    """A provider that speaks through OpenAI's SDK, to OpenAI or to whoever has that protocol.

    The address is that of the arguments, else that of the client, else ``OPENAI_BASE_URL``, else
    OpenAI's; the key that of the arguments, else ``OPENAI_API_KEY``.
    """

    sdk: ClassVar[str] = "openai"
    client_class: ClassVar[str] = "AsyncOpenAI"

    def __init__(  # noqa: PLR0913 - one keyword a trait of the endpoint
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        name: str | None = None,
        context_window: int | None = None,
        timeout: float = 600.0,
        default_headers: Mapping[str, str] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        client: Any = None,
    ) -> None:
        address = address_of(base_url, client, "OPENAI_BASE_URL", _BASE_URL)
        key = setting(api_key, "OPENAI_API_KEY")
        if key is None and address.rstrip("/") != _BASE_URL:
            key = _NO_KEY
        super().__init__(
            model,
            endpoint=Endpoint.of(address, key, timeout, default_headers),
            client=client,
            context_window=context_window,
            extra_body=extra_body,
        )
        self._host: Host = host_of(address)
        self.name: str = name or self._host.name

    @property
    def _origin(self) -> str:
        return self._host.origin

    def _known_window(self) -> int | None:
        return openai_window(self._model) if self._origin == "openai" else None
