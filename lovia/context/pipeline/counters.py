"""Which counter sizes a call: chosen once per provider and model, so counts stay comparable."""

from __future__ import annotations

import time
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from lovia.providers.base import model_name
from lovia.tokens import as_counter, default_counter, load_counter

if TYPE_CHECKING:
    from lovia.context.policy import PolicyContext
    from lovia.tokens.counter import TokenCounter

__all__ = ["CounterChoice"]

#: Seconds until a vocabulary that could not be loaded is asked for again.
_RETRY_SECONDS = 300.0


class CounterChoice:
    """Finds the counter of a call and keeps to it.

    Args:
        configured: The user's own counter, in any shape that :func:`~lovia.tokens.as_counter`
            takes.
    """

    def __init__(self, configured: object | None = None) -> None:
        self._configured = None if configured is None else as_counter(configured)
        self._by_provider: dict[int, tuple[weakref.ref[Any], TokenCounter]] = {}
        self._last: tuple[Any, TokenCounter] | None = None  # for what cannot be referred to weakly
        self._by_model: dict[str, TokenCounter] = {}
        self._missing: dict[str, float] = {}

    async def of(self, ctx: PolicyContext) -> TokenCounter:
        """Return the user's counter, the provider's own, the model's tokenizer, or bytes.

        A tokenizer is loaded in a worker thread at the first call for its model.
        """
        if self._configured is not None:
            return self._configured
        if callable(getattr(ctx.provider, "count_tokens", None)):
            return self._provider_counter(ctx.provider)
        model = model_name(ctx.provider, ctx.model)
        if model is None:
            return default_counter()
        known = self._by_model.get(model)
        if known is not None:
            return known
        return await self._load(model)

    def _provider_counter(self, provider: Any) -> TokenCounter:
        """Return the counter of this very object, which neither of them keeps alive."""
        known = self._by_provider.get(id(provider))
        if known is not None and known[0]() is provider:
            return known[1]
        try:
            reference = weakref.ref(provider, partial(self._forget, id(provider)))
        except TypeError:
            if self._last is None or self._last[0] is not provider:
                self._last = (provider, as_counter(provider))
            return self._last[1]
        counter = as_counter(provider, weakly=True)
        self._by_provider[id(provider)] = (reference, counter)
        return counter

    def _forget(self, address: int, reference: weakref.ref[Any]) -> None:
        known = self._by_provider.get(address)
        if known is not None and known[0] is reference:
            del self._by_provider[address]

    async def _load(self, model: str) -> TokenCounter:
        if time.monotonic() < self._missing.get(model, 0.0):
            return default_counter()
        counter = await load_counter(model)
        if counter.source == "tokenizer":
            self._by_model[model] = counter
        else:
            self._missing[model] = time.monotonic() + _RETRY_SECONDS
        return counter
