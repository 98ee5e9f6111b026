"""Counting with a real vocabulary, by tiktoken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from lovia.errors import UserError
from lovia.tokens import vocabulary
from lovia.tokens.entry_counter import EntryCounter
from lovia.tokens.estimators import default_counter
from lovia.tokens.vocabulary import LOAD_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tiktoken import Encoding

    from lovia.tokens.counter import TokenCounter, TokenSource
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["TiktokenCounter", "count_ahead", "load_counter"]

_SLICE: Final = 4_096  # characters that are tokenised at once
_WHOLE: Final = 65_536  # characters of a text that is tokenised to its end
_SAMPLES: Final = _WHOLE // _SLICE  # slices of a larger text


class TiktokenCounter:
    """Counts with the vocabulary of a model, and with bytes until that vocabulary is loaded.

    The vocabulary is never loaded by counting: ``await counter.load()`` does it in a thread, once
    for the whole process. Until then, or when it cannot be had, sizes come from
    :class:`~lovia.tokens.estimators.ByteCounter`, and :attr:`source` says so.

    A text is tokenised in slices of 4,096 characters, so that one long word or run of spaces
    cannot take quadratic time, and a text of more than 65,536 characters by 16 slices of it, evenly
    spread: one count takes about 20 milliseconds at most, whatever the text. Cutting costs
    exactness only where a slice ends inside a word. Special tokens count as the text they are.

    Args:
        encoding_or_model: Such as ``o200k_base``, ``gpt-5`` or ``openai:gpt-5``.

    Raises:
        UserError: tiktoken knows no such encoding or model.
    """

    def __init__(self, encoding_or_model: str) -> None:
        name = vocabulary.encoding_name(encoding_or_model)
        if name is None:
            message = f"tiktoken knows no encoding or model {encoding_or_model!r}."
            hint = "Name an encoding, such as 'o200k_base', or use ByteCounter()."
            raise UserError(message, hint=hint)
        self.encoding: Final = name
        self._tokenizer: _EncodingCounter | None = None

    def __repr__(self) -> str:
        return f"TiktokenCounter({self.encoding!r})"

    @property
    def source(self) -> TokenSource:
        """``tokenizer`` once the vocabulary is loaded, ``bytes`` before."""
        return self._now().source

    @property
    def is_loaded(self) -> bool:
        """Whether the vocabulary is there."""
        return self._now() is self._tokenizer

    async def load(self, *, timeout: float = LOAD_SECONDS) -> bool:  # noqa: ASYNC109 - as in vocabulary
        """Load the vocabulary in a worker thread.

        Args:
            timeout: Seconds to wait at most; the load goes on in the background after that.

        Returns:
            Whether it is there. A failure is remembered for some minutes and not tried again.
        """
        await vocabulary.load(self.encoding, timeout=timeout)
        return self.is_loaded

    def load_blocking(self, *, timeout: float = LOAD_SECONDS) -> bool:
        """Load the vocabulary and wait; for code that is not on an event loop."""
        vocabulary.load_blocking(self.encoding, timeout=timeout)
        return self.is_loaded

    def text(self, text: str) -> int:
        """Return the tokens of a plain text."""
        return self._now().text(text)

    def entry(self, entry: TranscriptEntry) -> int:
        """Return the tokens of one entry, its framing included; always at least 1."""
        return self._now().entry(entry)

    def entries(self, entries: Iterable[TranscriptEntry]) -> int:
        """Return the sum over entries, all by the same measure."""
        return self._now().entries(entries)

    def overhead(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        response_format: Any = None,
    ) -> int:
        """Return the tokens of instructions, tool schemas and response format."""
        return self._now().overhead(
            instructions=instructions, tools=tools, response_format=response_format
        )

    def _now(self) -> EntryCounter:
        """Return what counts at present."""
        if self._tokenizer is None:
            encoding = vocabulary.loaded(self.encoding)
            if encoding is None:
                return default_counter()
            self._tokenizer = _EncodingCounter(encoding)
        return self._tokenizer


class _EncodingCounter(EntryCounter):
    """Counts with a vocabulary that is there."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__(f"tiktoken:{encoding.name}")
        self._encode: Final = encoding.encode_ordinary

    @property
    def source(self) -> TokenSource:
        return "tokenizer"

    def text(self, text: str) -> int:
        size = len(text)
        if size <= _SLICE:
            return len(self._encode(text))
        if size <= _WHOLE:
            return sum(len(self._encode(piece)) for piece in _slices(text))
        step = size // _SAMPLES
        first = (step - _SLICE) // 2
        starts = range(first, first + _SAMPLES * step, step)
        counted = sum(len(self._encode(text[start : start + _SLICE])) for start in starts)
        return round(counted * size / (_SAMPLES * _SLICE))


def _slices(text: str) -> Iterator[str]:
    """Cut a text into slices, in front of a space where there is one: no token spans that place."""
    start = 0
    while len(text) - start > _SLICE:
        end = start + _SLICE
        space = text.rfind(" ", start + _SLICE // 2, end)
        stop = space if space > start else end
        yield text[start:stop]
        start = stop
    yield text[start:]


async def load_counter(
    model: str | None,
    *,
    timeout: float = LOAD_SECONDS,  # noqa: ASYNC109 - as in vocabulary
) -> TokenCounter:
    """Return the best counter for a model: its tokenizer, loaded in a worker thread, else bytes.

    Args:
        model: The model, with or without a vendor's prefix; ``None`` when nobody knows.
        timeout: Seconds to wait for a vocabulary. A failed load is remembered for some minutes, so
            that calling this before each run costs little.
    """
    name = await anyio.to_thread.run_sync(vocabulary.encoding_name, model) if model else None
    if name is None:
        return default_counter()
    counter = TiktokenCounter(name)
    return counter if await counter.load(timeout=timeout) else default_counter()


async def count_ahead(counter: TokenCounter, entries: Sequence[TranscriptEntry]) -> None:
    """Count entries in a worker thread, so that asking for their size later costs nothing.

    Does so for tokenizers alone: other counters are quick, or the user's own and perhaps not made
    for threads. One call suits everything that a turn appends.

    Args:
        counter: The counter that will be asked.
        entries: The new entries.
    """
    if entries and isinstance(counter, TiktokenCounter) and counter.is_loaded:
        await anyio.to_thread.run_sync(counter.entries, list(entries))
