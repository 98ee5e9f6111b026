"""Models behind OpenAI's two protocols, served by OpenAI or by anybody who speaks them."""

from __future__ import annotations

from lovia.providers.openai.chat import OpenAIChatProvider
from lovia.providers.openai.dialect import COMPATIBLE_DIALECT, OPENAI_DIALECT, ChatDialect
from lovia.providers.openai.responses import OpenAIResponsesProvider

__all__ = [
    "COMPATIBLE_DIALECT",
    "OPENAI_DIALECT",
    "ChatDialect",
    "OpenAIChatProvider",
    "OpenAIResponsesProvider",
]
