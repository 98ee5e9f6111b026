"""How many prompt tokens the models of the two vendors take, as far as the vendors say.

Sources: the vendors' model pages, read in November 2026 (platform.claude.com/docs, "Models
overview"; developers.openai.com/api/docs/models). OpenAI's newer models refuse prompts by a limit
of their own, which is the window less the longest answer (400,000 - 128,000 and 1,050,000 -
128,000); that limit is what a request has to keep, so it is what stands here.
"""

from __future__ import annotations

from typing import Final

__all__ = ["anthropic_window", "openai_window"]

# The longest matching beginning of a model's name wins.
_OPENAI: Final = {
    "gpt-6": 922_000,
    "gpt-5.6": 922_000,
    "gpt-5.5": 922_000,
    "gpt-5.4": 922_000,
    "gpt-5.4-mini": 272_000,
    "gpt-5.4-nano": 272_000,
    "gpt-5": 272_000,
    "gpt-5-chat": 128_000,
    "gpt-5.1-chat": 128_000,
    "gpt-5.2-chat": 128_000,
    "gpt-5.3-chat": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "chatgpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-3.5-turbo": 16_385,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
}
_ANTHROPIC: Final = {
    "claude-fable": 1_000_000,
    "claude-mythos": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "claude-haiku-5": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-6": 1_000_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-opus-4": 200_000,
    "claude-sonnet-4": 200_000,
    "claude-haiku-4": 200_000,
    "claude-3": 200_000,
}


def openai_window(model: str) -> int | None:
    """Return the prompt tokens that one of OpenAI's models takes; ``None`` for unknown ones."""
    return _longest_match(_OPENAI, model)


def anthropic_window(model: str) -> int | None:
    """Return the context window of one of Anthropic's models; ``None`` for unknown ones."""
    return _longest_match(_ANTHROPIC, model)


def _longest_match(table: dict[str, int], model: str) -> int | None:
    beginnings = [beginning for beginning in table if model.startswith(beginning)]
    return table[max(beginnings, key=len)] if beginnings else None
