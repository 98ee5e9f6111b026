"""The protocol of whatever can say how many tokens something takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["TokenCounter", "TokenSource"]

#: Where a size comes from: the provider's own count, a tokenizer's, or a guess from bytes.
TokenSource = Literal["provider", "tokenizer", "bytes"]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts tokens of entries and of plain text.

    Implementations count an entry once in its lifetime and never raise on odd text: lone
    surrogates, empty strings and megabytes have a size like anything else.
    """

    @property
    def source(self) -> TokenSource:
        """Where the sizes come from; a plain attribute will do."""
        ...

    def text(self, text: str) -> int:
        """Return the tokens of a plain text."""
        ...

    def entry(self, entry: TranscriptEntry) -> int:
        """Return the tokens of one entry, its framing included; always at least 1."""
        ...

    def entries(self, entries: Iterable[TranscriptEntry]) -> int:
        """Return the sum over entries."""
        ...

    def overhead(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        response_format: Any = None,
    ) -> int:
        """Return the tokens of what a request holds beside its entries."""
        ...
