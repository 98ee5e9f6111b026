"""How big something is: token counters, and what each part of a request takes."""

from __future__ import annotations

from lovia.tokens.choice import counter_for
from lovia.tokens.counter import TokenCounter, TokenSource
from lovia.tokens.custom import as_counter
from lovia.tokens.entry_counter import EntryCounter
from lovia.tokens.estimators import ByteCounter, default_counter
from lovia.tokens.tokenizer import TiktokenCounter, count_ahead, load_counter

__all__ = [
    "ByteCounter",
    "EntryCounter",
    "TiktokenCounter",
    "TokenCounter",
    "TokenSource",
    "as_counter",
    "count_ahead",
    "counter_for",
    "default_counter",
    "load_counter",
]
