"""Tests of providers that are named by `vendor:model`."""

from __future__ import annotations

import pytest

from lovia.providers import Provider
from lovia.providers.anthropic import AnthropicProvider
from lovia.providers.openai import OpenAIChatProvider, OpenAIResponsesProvider
from lovia.runtime.models import resolve_provider


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
