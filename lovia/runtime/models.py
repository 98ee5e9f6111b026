"""From the name of a model to the provider that serves it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from lovia.errors import UserError

if TYPE_CHECKING:
    from lovia.providers.base import Provider

__all__ = ["resolve_provider"]

# Vendor prefix -> the class that speaks its protocol. Loading it needs no SDK; asking it does.
_VENDORS: Final = {
    "openai": ("lovia.providers.openai", "OpenAIChatProvider"),
    "openai-responses": ("lovia.providers.openai", "OpenAIResponsesProvider"),
    "anthropic": ("lovia.providers.anthropic", "AnthropicProvider"),
}


def resolve_provider(model: str | Provider | None) -> Provider:
    """Return the provider for ``Agent.model``.

    Args:
        model: A provider; or ``"vendor:model"``; or a bare model name, served by an
            OpenAI-compatible endpoint.

    Raises:
        UserError: There is no model, or nobody here speaks the vendor's protocol.
    """
    if model is None:
        hint = 'Set Agent(model=...), to a provider or to a name such as "openai:gpt-5.5".'
        raise UserError("The agent has no model.", hint=hint)
    if not isinstance(model, str):
        if not callable(getattr(model, "stream", None)):
            message = f"{type(model).__name__} is no provider: it has no stream() method."
            raise UserError(message, hint="See lovia.providers.Provider for the protocol.")
        return model
    vendor, separator, name = model.partition(":")
    if not separator:
        vendor, name = "openai", model
    if vendor not in _VENDORS or not name:
        hint = f"Known vendors: {', '.join(_VENDORS)}; write vendor:model, or pass a provider."
        raise UserError(f"There is no provider for model {model!r}.", hint=hint)
    module, attribute = _VENDORS[vendor]
    factory: Any = getattr(import_module(module), attribute)
    provider: Provider = factory(name)
    return provider
