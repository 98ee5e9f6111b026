"""Counting entries once: the part that all counters share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from lovia.tokens.pricing import ENTRY_TOKENS, entry_tokens, not_an_entry, schema_text
from lovia.transcript.entries import TranscriptEntry, memo

if TYPE_CHECKING:
    from lovia.tokens.counter import TokenSource

__all__ = ["EntryCounter"]

_PREFIX: Final = "tokens:"
_MOST_FACTS: Final = 64  # on one entry; only counters that are made anew for each run get there
_REMEMBERED: Final = 256  # instructions and tools whose size is kept; more than a request has


class EntryCounter(ABC):
    """Counts entries for a subclass that measures text.

    The size of an entry is remembered on the entry, under the counter's key: it is computed once in
    the entry's lifetime, however many passes, policies or runs look at it, and two counters of
    different configuration never read each other's numbers.
    """

    def __init__(self, key: str) -> None:
        self._key: Final = _PREFIX + key
        self._texts: Final[dict[str, int]] = {}
        self._tools: Final[dict[int, tuple[object, int]]] = {}

    @property
    @abstractmethod
    def source(self) -> TokenSource:
        """Where the sizes come from."""

    @abstractmethod
    def text(self, text: str) -> int:
        """Return the tokens of a plain text."""

    def entry(self, entry: TranscriptEntry) -> int:
        """Return the tokens of one entry, its framing included; always at least 1.

        Raises:
            UserError: It is no transcript entry.
        """
        try:
            known = memo(entry)
        except AttributeError:
            raise not_an_entry(entry) from None
        tokens = known.get(self._key)
        return self._count_once(entry, known) if tokens is None else int(tokens)

    def entries(self, entries: Iterable[TranscriptEntry]) -> int:
        """Return the sum over entries; one that is counted already costs a dictionary look-up."""
        key, total = self._key, 0
        for entry in entries:
            try:
                known = entry._memo  # noqa: SLF001 - as memo() does, without making what is missing
            except AttributeError:
                raise not_an_entry(entry) from None
            if known is not None and key in known:
                total += known[key]
            else:
                total += self._count_once(entry, memo(entry))
        return total

    def overhead(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        response_format: Any = None,
    ) -> int:
        """Return the tokens of instructions, tool schemas and response format, all framed.

        What stays the same from turn to turn is measured once.
        """
        total = ENTRY_TOKENS + self._fixed(instructions) if instructions else 0
        for tool in tools:
            total += ENTRY_TOKENS + self._tool(tool)
        if response_format is not None:
            total += ENTRY_TOKENS + self._fixed(schema_text(response_format))
        return total

    def _count_once(self, entry: TranscriptEntry, known: dict[str, Any]) -> int:
        """Count an entry for the first time."""
        tokens = self._price(entry)
        if len(known) >= _MOST_FACTS:
            _forget_counts(known)
        known[self._key] = tokens
        return tokens

    def _price(self, entry: TranscriptEntry) -> int:
        """Return the tokens of an entry, looking at all of it."""
        return entry_tokens(entry, self.text)

    def _fixed(self, text: str) -> int:
        """Measure a text that comes again every turn."""
        tokens = self._texts.get(text)
        if tokens is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            tokens = self._texts[text] = self.text(text)
        return tokens

    def _tool(self, tool: Any) -> int:
        """Measure a tool; an object's schema is written out once, a dictionary's every time."""
        if isinstance(tool, Mapping):
            return self._fixed(schema_text(tool))
        known = self._tools.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        if len(self._tools) >= _REMEMBERED:
            self._tools.clear()
        tokens = self._fixed(schema_text(tool))
        self._tools[id(tool)] = (tool, tokens)
        return tokens


def _forget_counts(known: dict[str, Any]) -> None:
    """Make room on an entry that outlives its counters; whoever is still there counts once more."""
    for key in [key for key in known if key.startswith(_PREFIX)]:
        del known[key]
