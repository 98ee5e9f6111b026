"""Which counter measures the requests to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.tokens import vocabulary
from lovia.tokens.custom import as_counter
from lovia.tokens.estimators import default_counter
from lovia.tokens.tokenizer import TiktokenCounter

if TYPE_CHECKING:
    from lovia.tokens.counter import TokenCounter

__all__ = ["counter_for"]


def counter_for(provider: object = None, model: str | None = None) -> TokenCounter:
    """Return the best counter at hand for a provider and model; loads nothing and never waits.

    Args:
        provider: Its own ``count_tokens(entries)`` is used when it has one.
        model: The model that answers; the provider's own by default. Its tokenizer is used when the
            vocabulary was loaded before, by :func:`~lovia.tokens.tokenizer.load_counter`.

    Returns:
        The provider's count, else the tokenizer, else the estimate from bytes.
    """
    if callable(getattr(provider, "count_tokens", None)):
        return as_counter(provider)
    name = model or getattr(provider, "model", None)
    if isinstance(name, str) and vocabulary.any_loaded():
        encoding = vocabulary.encoding_name(name)
        if encoding is not None and vocabulary.loaded(encoding) is not None:
            return TiktokenCounter(encoding)
    return default_counter()
