"""What a model provider is: one streaming method, and what is asked of it when it is there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from lovia.transcript.deltas import ModelDelta
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ModelSettings", "Provider", "model_name", "provider_name", "provider_window"]


@dataclass(frozen=True)
class ModelSettings:
    """Knobs forwarded to the provider; ``None`` leaves the provider's own default.

    Attributes:
        temperature: Sampling temperature.
        top_p: Nucleus sampling mass.
        max_tokens: Upper bound of generated tokens.
        stop: Texts that end the answer.
        parallel_tool_calls: Whether one turn may hold several calls.
        provider_options: Further request fields by provider name.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: Sequence[str] | None = None
    parallel_tool_calls: bool | None = None
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@runtime_checkable
class Provider(Protocol):
    """A model behind one streaming call.

    A provider may also have ``context_window() -> int | None`` (tokens), ``count_tokens(entries) ->
    int`` and ``base_url``; they are used when present.
    """

    # Properties, as they are read and never written: a provider may declare a plain `str`.
    @property
    def name(self) -> str:
        """Short vendor name, such as ``openai``."""
        ...

    @property
    def model(self) -> str | None:
        """The model that answers, or ``None`` when the endpoint decides."""
        ...

    def stream(
        self,
        entries: list[TranscriptEntry],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        settings: ModelSettings | None = None,
    ) -> AsyncIterator[ModelDelta]:
        """Send one request and stream the answer.

        Args:
            entries: The whole request; instructions are its leading system entry.
            tools: Function schemas, ``{"type": "function", "function": {name, description,
                parameters}}``.
            response_format: A JSON schema that the answer has to fit.
            settings: Sampling settings.

        Raises:
            ContextOverflowError: The request is larger than the model's window.
            ProviderError: Anything else that went wrong between us and the model.
        """
        ...


def provider_name(provider: object) -> str:
    """Return the provider's short name; its class's name when it has none."""
    return str(getattr(provider, "name", None) or type(provider).__name__)


def model_name(provider: object, model: str | None = None) -> str | None:
    """Return the model in use: the one asked for, else the provider's own."""
    own = getattr(provider, "model", None)
    return model or (str(own) if own else None)


def provider_window(provider: object) -> int | None:
    """Return the context window in tokens that the provider states, or ``None``."""
    window = getattr(provider, "context_window", None)
    value = window() if callable(window) else window
    return value if isinstance(value, int) and value > 0 else None
