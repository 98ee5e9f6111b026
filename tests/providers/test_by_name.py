"""Tests of providers that are named by `vendor:model`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from lovia.providers import Provider
from lovia.providers.anthropic import AnthropicProvider
from lovia.providers.openai import OpenAIChatProvider, OpenAIResponsesProvider
from lovia.runtime.models import resolve_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.mark.parametrize(
    ("name", "kind", "vendor", "model"),
    [
        ("openai:gpt-5.5", OpenAIChatProvider, "openai", "gpt-5.5"),
        ("gpt-5.5", OpenAIChatProvider, "openai", "gpt-5.5"),
        ("openai-responses:gpt-6.2-sol", OpenAIResponsesProvider, "openai", "gpt-6.2-sol"),
        ("anthropic:claude-opus-5-5", AnthropicProvider, "anthropic", "claude-opus-5-5"),
    ],
)
def test_a_name_is_a_provider(name: str, kind: type, vendor: str, model: str) -> None:
    """The prefix chooses the protocol, the rest is the model; nothing is loaded or sent for it."""
    provider = resolve_provider(name)
    assert type(provider) is kind
    assert isinstance(provider, Provider)
    assert (provider.name, provider.model) == (vendor, model)


class Fixed:
    """A provider whose model is a plain text that nobody may change."""

    name: Final = "fixed"
    model: str = "fixed-1"

    async def stream(self, entries: Any, **options: Any) -> AsyncIterator[Any]:
        """Say nothing."""
        yield  # pragma: no cover


def test_a_provider_may_say_more_exactly_what_it_has() -> None:
    """Type checkers take a constant name and a model that is never `None`; so does the runner."""
    provider: Provider = Fixed()
    assert resolve_provider(provider) is provider
