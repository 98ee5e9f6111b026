"""Anthropic's models, by the Messages protocol."""

from __future__ import annotations

from lovia.providers.anthropic.messages import AnthropicProvider

__all__ = ["AnthropicProvider"]
