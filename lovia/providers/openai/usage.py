"""What a call spent, in the words of OpenAI's two protocols and of those who speak them."""

from __future__ import annotations

from typing import Any

from lovia.providers.fields import count_in, object_in
from lovia.usage import Usage

__all__ = ["chat_usage", "responses_usage"]


def chat_usage(reported: dict[str, Any]) -> Usage:
    """Read the usage of a Chat Completions answer.

    The prompt includes what the cache served. Some servers leave reasoning out of the completion
    but not out of the total, so the answer is the total less the prompt, if that is more.
    """
    # DeepSeek and Kimi report cached tokens beside the details.
    cached = count_in(reported, "prompt_cache_hit_tokens") or count_in(reported, "cached_tokens")
    return _usage(reported, "prompt_tokens", "completion_tokens", cached=cached)


def responses_usage(reported: dict[str, Any]) -> Usage:
    """Read the usage of a Responses answer; the input includes what the cache served."""
    return _usage(reported, "input_tokens", "output_tokens")


def _usage(reported: dict[str, Any], prompt: str, answer: str, *, cached: int = 0) -> Usage:
    asked, total = count_in(reported, prompt), count_in(reported, "total_tokens")
    prompt_details = object_in(reported, f"{prompt}_details")
    return Usage(
        input_tokens=asked,
        output_tokens=max(count_in(reported, answer), total - asked),
        cache_read_tokens=count_in(prompt_details, "cached_tokens") or cached,
        cache_write_tokens=count_in(prompt_details, "cache_write_tokens"),
        reasoning_tokens=count_in(object_in(reported, f"{answer}_details"), "reasoning_tokens"),
    )
