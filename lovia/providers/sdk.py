"""What the adapters over the vendors' SDKs have in common: the way of a request and its answer."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import anyio.to_thread

from lovia.errors import ProviderError
from lovia.providers.base import ModelSettings
from lovia.providers.clients import close_clients, load_sdk, shared_client
from lovia.providers.failures import failure_of, whole_answer
from lovia.providers.sse import json_events
from lovia_otel.neighbours import unobserved

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Iterable, Mapping, Sequence

    from lovia.transcript.deltas import ModelDelta
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Endpoint", "PreparedRequest", "Reader", "SDKProvider", "address_of", "setting"]

#: Seconds that opening a connection may take.
_CONNECT: Final = 10.0
# Types of answers that are no streams.
_WHOLE: Final = ("application/json", "text/html")


class Reader(Protocol):
    """Understands the events of one streamed answer."""

    def feed(self, event: Mapping[str, Any]) -> Iterable[ModelDelta]:
        """Return what the next event says."""
        ...

    def end(self) -> Iterable[ModelDelta]:
        """Return what is left to say when the stream has ended.

        Raises:
            ProviderError: It ended before the answer did.
        """
        ...


@dataclass(frozen=True)
class PreparedRequest:
    """A request as an SDK takes it.

    Attributes:
        arguments: The keyword arguments of the SDK's ``create``.
        reader: Understands the answer.
    """

    arguments: dict[str, Any]
    reader: Reader


@dataclass(frozen=True)
class Endpoint:
    """Where a provider sends its requests, and how.

    Attributes:
        base_url: The address that all paths are added to.
        api_key: The key; ``None`` leaves it to the SDK to find one.
        timeout: Seconds without a byte from the server, before the answer and inside it.
        headers: Sent with every request.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 600.0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, base_url: str, api_key: str | None, timeout: float, headers: Mapping[str, str] | None
    ) -> Endpoint:
        """Return the endpoint of a provider's arguments."""
        return cls(base_url, api_key, timeout, tuple(sorted((headers or {}).items())))


def address_of(base_url: str | None, client: Any, variable: str, vendor: str) -> str:
    """Return where requests go: as the argument says, else the client, the variable, the vendor.

    Args:
        base_url: The provider's argument.
        client: The SDK client that the provider was given, or ``None``.
        variable: The environment variable that the SDK reads.
        vendor: The vendor's own address.
    """
    own = str(getattr(client, "base_url", None) or "") or None
    return base_url or own or setting(None, variable) or vendor


class SDKProvider(ABC):
    """A provider that speaks through a vendor's SDK.

    Requests are built in a worker thread. The SDK's own retries are off, since the runner retries:
    by its policy, telling the user, and with every attempt counted.

    Attributes:
        name: The vendor's short name.
        model: The model that answers.
        base_url: Where requests go.
        supports_json_schema: Whether a requested output type is sent as a schema, and not as
            instructions.
    """

    sdk: ClassVar[str]
    client_class: ClassVar[str]
    name: str
    model: str | None
    supports_json_schema: bool

    def __init__(
        self,
        model: str,
        *,
        endpoint: Endpoint,
        client: Any,
        context_window: int | None,
        extra_body: Mapping[str, Any] | None,
    ) -> None:
        self.model = model
        self._endpoint = endpoint
        self._given_client = client
        self._context_window = context_window
        self._extra_body = dict(extra_body or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self.base_url!r})"

    @property
    def _model(self) -> str:
        return self.model or ""

    @property
    def base_url(self) -> str:
        """The address that requests go to."""
        return self._endpoint.base_url

    def context_window(self) -> int | None:
        """Return how many prompt tokens the model takes; ``None`` when nobody says."""
        return self._context_window or self._known_window()

    async def stream(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        settings: ModelSettings | None = None,
    ) -> AsyncGenerator[ModelDelta, None]:
        """Send one request and stream the answer.

        Args:
            entries: The whole request; instructions are its leading system entries.
            tools: Function schemas.
            response_format: A JSON schema that the answer has to fit.
            settings: Sampling settings.

        Raises:
            ContextOverflowError: The request is larger than the model's window.
            ProviderError: The request was refused, or the answer broke off.
            UserError: The SDK is not installed, there is no API key, or a setting is none that the
                vendor has.
        """
        sdk = await anyio.to_thread.run_sync(load_sdk, self.sdk)
        asked = list(entries), list(tools or ()), response_format, settings or ModelSettings()
        try:
            request = await anyio.to_thread.run_sync(self._prepare, *asked)
            client = await self._client()
            # In a worker thread, as an SDK imports a part of itself when that is first asked for.
            resource = await anyio.to_thread.run_sync(self._unread, client)
            async with resource.create(**request.arguments) as response:
                await self._check_is_stream(response.http_response)
                async with aclosing(json_events(response.http_response)) as events:
                    async for event in events:
                        for delta in request.reader.feed(event):
                            yield delta
            for delta in request.reader.end():
                yield delta
        except ProviderError:
            raise
        except Exception as error:
            failure = failure_of(error, sdk, vendor=self.name, model=self._model)
            if failure is error:
                raise
            raise failure from error

    async def aclose(self) -> None:
        """Close the connections that the running event loop has to the endpoint.

        The provider goes on working, and opens new ones. A client of the user's own stays open.
        """
        await close_clients(self._client_key)

    async def _check_is_stream(self, response: Any) -> None:
        """Refuse an answer in one piece: some servers send an error with the status of success."""
        kind = str(response.headers.get("content-type", ""))
        if not kind.startswith(_WHOLE):
            return
        text = (await response.aread()).decode("utf-8", "replace")
        raise whole_answer(text, vendor=self.name, model=self._model)

    async def _client(self) -> Any:
        if self._given_client is not None:
            return self._given_client.with_options(max_retries=0)
        return await shared_client(self._client_key, self._make_client)

    @property
    def _client_key(self) -> Hashable:
        return self.sdk, self.client_class, self._endpoint

    def _make_client(self) -> Any:
        """Make a client (in a worker thread: it reads certificates)."""
        sdk, endpoint = load_sdk(self.sdk), self._endpoint
        return getattr(sdk, self.client_class)(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            timeout=sdk.Timeout(endpoint.timeout, connect=min(endpoint.timeout, _CONNECT)),
            max_retries=0,
            default_headers=dict(endpoint.headers) or None,
            **self._client_options(),
        )

    def _client_options(self) -> dict[str, Any]:
        return {}

    def _unread(self, client: Any) -> Any:
        """Return the part of a client whose ``create`` opens an answer without reading it.

        Each call has its ``chat`` span already, so instrumentations of the SDK are left out. Some
        of them also expect an answer that the SDK has read, and break a run over one that is not.
        """
        resource = self._resource(client)
        method = resource.create
        create = unobserved(method)
        if create is not method:
            resource = type(resource)(client)  # the other one is the client's for good
            resource.create = create
        return resource.with_streaming_response

    @abstractmethod
    def _known_window(self) -> int | None: ...

    @abstractmethod
    def _prepare(
        self,
        entries: Sequence[TranscriptEntry],
        tools: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        settings: ModelSettings,
    ) -> PreparedRequest: ...

    @abstractmethod
    def _resource(self, client: Any) -> Any:
        """Return the part of a client whose ``create`` sends requests."""


def setting(given: str | None, *variables: str) -> str | None:
    """Return what was given, else the first of the environment variables that is set."""
    return given or next((value for name in variables if (value := os.environ.get(name))), None)
