"""Recognises that a request was refused because it is larger than the context window.

Every vendor says so in words of its own, many with a status code that says something else, and
gateways wrap the words of others. The tables below hold the wordings; a new one is a new line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Overflow", "overflow_of"]


@dataclass(frozen=True, slots=True)
class Overflow:
    """A refusal for size.

    Attributes:
        window: The tokens that the refusal says the model takes, or ``None``.
    """

    window: int | None = None


# Statuses with which somebody refuses a request for its size; errors inside a stream come with the
# stream's 200 or with none. 401, 402, 403, 404 and 429 never mean that.
_STATUSES: Final = frozenset({None, 200, 400, 413, 422, 500})

_N: Final = r"(?P<window>\d[\d,_]*)"
_COUNT: Final = r"\d[\d,_]*"

# Who says it, and how; those that name the window come first.
_WORDINGS: Final = tuple(
    (who, re.compile(wording, re.IGNORECASE | re.DOTALL))
    for who, wording in (
        (
            "OpenAI, Azure, vLLM, DeepSeek, xAI, OpenRouter",
            rf"maximum (?:context|prompt|input|model) length (?:is|of) {_N}",
        ),
        ("Fireworks", rf"maximum context length: {_N}"),
        ("OpenAI since GPT-5", rf"tokens exceeds? the (?:configured )?limit of {_N}"),
        ("Anthropic, Bedrock, Vertex", rf"prompt is too long: {_COUNT}(?: tokens)? ?> ?{_N}"),
        ("Anthropic", rf"exceed context limit: {_COUNT} ?\+ ?{_COUNT} ?> ?{_N}"),
        ("vLLM", rf"longer than the maximum model length of {_N}"),
        ("vLLM", rf"too long to fit into the model \(context length {_N}"),
        ("SGLang", rf"longer than the model's context length \({_N}"),
        ("llama.cpp", rf"exceeds? the available context size \({_N}"),
        ("rkllama", rf"the model context window is {_N}"),
        (
            "llama-cpp-python and others",
            rf"exceed(?:s|ed)?\b.{{0,40}}\bcontext (?:window|length|size|limit) (?:of|is) {_N}",
        ),
        ("LM Studio", rf"loaded with context length of only {_N}"),
        ("Gemini", rf"exceeds the maximum number of tokens allowed \({_N}"),
        (
            "Text Generation Inference, Together",
            rf"`?inputs`? (?:tokens \+ `?max_new_tokens`? )?must (?:be <=|have less than) {_N}",
        ),
        ("Mistral", rf"too large for model with {_N} maximum context length"),
        ("Kimi", rf"exceed(?:s|ed)? model token limit:? {_N}"),
        ("Qwen", rf"range of input length should be \[\d+, ?{_N}"),
        ("Cerebras", rf"current length is {_COUNT} while limit is {_N}"),
        ("Cohere", rf"tokens in the prompt cannot exceed {_N}"),
        ("GitHub Models", rf"prompt token count of {_COUNT} exceeds the limit of {_N}"),
        (
            "OpenAI Responses and others",
            r"exceeds? the (?:model's )?(?:maximum )?context (?:window|length|size|limit)",
        ),
        ("llama.cpp", r"exceeds? the available context size"),
        ("MiniMax", r"context (?:window|length) exceeds? (?:the )?limit"),
        ("Ollama", r"exceeded max context length"),
        ("Ollama", r"input (?:length )?(?:exceeds|is longer than) (?:the )?(?:maximum )?context"),
        ("Bedrock", r"input (?:is )?too long"),
        ("Bedrock", r"(?:number of )?input tokens exceed(?:s|ed)"),
        ("Z.AI", r"input length (?:is )?too long"),
        ("Zhipu", r"prompt exceeds max(?:imum)? length"),
        ("resellers", r"prompt (?:is )?too long"),
        ("LM Studio", r"initial prompt is greater than the context length"),
        ("Groq and others", r"reduce the length of the (?:messages|prompt|input|conversation)"),
        ("vLLM before 0.10", r"max_tokens must be at least 1, got -\d"),
        (
            "OpenAI, for one text",
            r"'(?:input|\S+\.(?:content|text|output|arguments)\S*)': string too long",
        ),
    )
)

_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
    }
)

# Limits on tokens that are no window: per minute, per day, per account, or on the answer.
_OTHER_LIMITS: Final = re.compile(
    r"rate.?limit|per[ -](?:min(?:ute)?|hour|day)\b|\b[TR]P[MDH]\b|quota|credits|billing"
    r"|too many requests|overloaded|throttl|completion tokens, whereas|supports at most \d+ compl",
    re.IGNORECASE,
)

# Fields beside the message that hold the window.
_WINDOW_FIELDS: Final = ("n_ctx", "max_context_length", "context_length", "max_model_len")
_LONGEST: Final = 20_000  # characters of an error that are looked at
_NESTING: Final = 6


def overflow_of(message: str, *, status: int | None = None, body: Any = None) -> Overflow | None:
    """Tell whether an error means that the request was larger than the context window.

    Args:
        message: What the vendor said.
        status: The HTTP status, if there was one.
        body: The error's JSON, in which gateways hide the words of the vendor behind them.

    Returns:
        The overflow, or ``None`` when the error means something else.
    """
    if status not in _STATUSES:
        return None
    texts = [message, *_texts(body, _NESTING)]
    said = "\n".join(texts)[:_LONGEST]
    if _OTHER_LIMITS.search(said):
        return None
    for _, wording in _WORDINGS:
        found = wording.search(said)
        if found is not None:
            return Overflow(_window(found) or _stated_window(body, _NESTING))
    if status == 413 or any(text.lower() in _CODES for text in texts):  # noqa: PLR2004 - content too large
        return Overflow(_stated_window(body, _NESTING))
    return None


def _window(found: re.Match[str]) -> int | None:
    digits = found.groupdict().get("window")
    return int(digits.replace(",", "").replace("_", "")) if digits else None


def _texts(value: Any, levels: int) -> Iterator[str]:
    """Yield the texts in an error's JSON, those inside JSON text included."""
    if isinstance(value, str):
        yield value
        nested = _nested(value) if levels else None
        if nested is not None:
            yield from _texts(nested, levels - 1)
    elif isinstance(value, (dict, list)) and levels:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, levels - 1)


def _stated_window(value: Any, levels: int) -> int | None:
    """Return the window that stands in a field of its own."""
    if not isinstance(value, dict) or not levels:
        return None
    for name in _WINDOW_FIELDS:
        if isinstance(value.get(name), int) and value[name] > 0:
            return int(value[name])
    found = (_stated_window(item, levels - 1) for item in value.values())
    return next((window for window in found if window), None)


def _nested(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")) or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
