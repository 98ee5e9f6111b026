"""Counters of the user's own, taken in whatever shape they come."""

from __future__ import annotations

import inspect
import itertools
import math
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lovia.errors import LoviaError, UserError
from lovia.tokens.counter import TokenCounter, TokenSource
from lovia.tokens.entry_counter import EntryCounter
from lovia.tokens.tokenizer import TiktokenCounter
from lovia.transcript.entries import InputEntry, TranscriptEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["as_counter"]

CountsWhat: TypeAlias = Literal["text", "entries"]

_TEXT_NAMES: Final = frozenset({"content", "s", "string", "t", "text", "txt"})
_ENTRY_NAMES: Final = frozenset({"entries", "history", "items", "messages", "transcript", "view"})
_HINT: Final = (
    "Give a TokenCounter such as ByteCounter() or TiktokenCounter('gpt-5'), a function over a text "
    "or over a list of entries, or a provider with count_tokens(entries)."
)


def as_counter(
    counter: object, *, over: CountsWhat | None = None, weakly: bool = False
) -> TokenCounter:
    """Return a token counter made of what a user has.

    Args:
        counter: One of: a :class:`~lovia.tokens.counter.TokenCounter`; an object with
            ``count_tokens(entries) -> int``, such as a provider; a function over a text; a function
            over a list of entries. Results are numbers of tokens, rounded up.
        over: What a function counts. Told from the annotation or name of its parameter when not
            given, and else by trying it on a short text and on one entry.
        weakly: Whether an object with ``count_tokens`` is referred to weakly, because somebody else
            keeps it for as long as it is to count.

    Returns:
        The object itself when it is one of lovia's counters. Anything else is wrapped: an entry is
        counted once, under a key that belongs to that object alone, and a failure or a result that
        is no number of tokens becomes a clear error.

    Raises:
        UserError: It is none of these, or nobody can tell what it counts. When counting: it failed.
    """
    if isinstance(counter, (EntryCounter, TiktokenCounter)):
        return counter
    if isinstance(counter, type):
        raise UserError(f"{counter.__name__} is a class, no token counter.", hint=_HINT)
    if isinstance(counter, TokenCounter):
        return _ForeignCounter(counter)
    count_tokens = getattr(counter, "count_tokens", None)
    if callable(count_tokens):
        count = _weak(count_tokens) if weakly and inspect.ismethod(count_tokens) else count_tokens
        return _EntriesCounter(count, owner=counter, source="provider")
    if not callable(counter):
        raise UserError(f"{_name(counter)} is no token counter.", hint=_HINT)
    if inspect.iscoroutinefunction(counter):
        message = f"The token counter {_name(counter)} is asynchronous."
        raise UserError(message, hint="Sizes are needed in many places; count without waiting.")
    if (over or _counts_what(counter)) == "text":
        return _TextCounter(counter)
    return _EntriesCounter(counter, owner=counter, source="tokenizer")


def _weak(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a method without keeping its object alive."""
    reference = weakref.WeakMethod(method)

    def call(*args: Any) -> Any:
        found = reference()
        if found is None:
            raise UserError("The provider that counted tokens is gone.", hint=_HINT)
        return found(*args)

    return call


class _TextCounter(EntryCounter):
    """Prices entries by a user's measure of text."""

    def __init__(self, measure: Callable[[str], Any]) -> None:
        super().__init__(_key(measure))
        self._measure: Final = measure

    @property
    def source(self) -> TokenSource:
        return "tokenizer"

    def text(self, text: str) -> int:
        return _called(self._measure, text)


class _EntriesCounter(EntryCounter):
    """Prices entries one by one, by a function over lists of them.

    What the function says of an empty list belongs to every request; it goes into the overhead
    once, and off every entry.
    """

    def __init__(
        self, count: Callable[[list[TranscriptEntry]], Any], *, owner: object, source: TokenSource
    ) -> None:
        super().__init__(_key(owner))
        self._count: Final = count
        self._source: Final = source
        self._fixed_tokens: int | None = None

    @property
    def source(self) -> TokenSource:
        return self._source

    def text(self, text: str) -> int:
        return self._marginal(InputEntry("user", text)) if text else 0

    def overhead(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        response_format: Any = None,
    ) -> int:
        return self._per_request() + super().overhead(
            instructions=instructions, tools=tools, response_format=response_format
        )

    def _price(self, entry: TranscriptEntry) -> int:
        return max(self._marginal(entry), 1)

    def _marginal(self, entry: TranscriptEntry) -> int:
        return max(_called(self._count, [entry]) - self._per_request(), 0)

    def _per_request(self) -> int:
        if self._fixed_tokens is None:
            try:
                self._fixed_tokens = _called(self._count, [])
            except UserError:  # it need not know what nothing takes
                self._fixed_tokens = 0
        return self._fixed_tokens


class _ForeignCounter(EntryCounter):
    """Checks and remembers what a user's own :class:`TokenCounter` says."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(_key(counter))
        self._counter: Final = counter

    @property
    def source(self) -> TokenSource:
        return self._counter.source

    def text(self, text: str) -> int:
        return _called(self._counter.text, text)

    def overhead(
        self,
        *,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        response_format: Any = None,
    ) -> int:
        return _called(
            self._counter.overhead,
            instructions=instructions,
            tools=tools,
            response_format=response_format,
        )

    def _price(self, entry: TranscriptEntry) -> int:
        return max(_called(self._counter.entry, entry), 1)


def _called(count: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Call a user's counter and check what it returns."""
    try:
        result = count(*args, **kwargs)
    except LoviaError:
        raise
    except Exception as error:
        message = f"The token counter {_name(count)} failed: {type(error).__name__}: {error}"
        raise UserError(message, hint="A counter must have a size for every text.") from error
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()  # nobody will await it
        message = f"The token counter {_name(count)} is asynchronous."
        raise UserError(message, hint="Sizes are needed in many places; count without waiting.")
    tokens = math.nan if isinstance(result, (bool, str)) else _number(result)
    if not 0 <= tokens < math.inf:
        message = f"The token counter {_name(count)} returned {result!r}, not a number of tokens."
        raise UserError(message, hint="Return a number, zero or more.")
    return math.ceil(tokens)


def _number(result: Any) -> float:
    try:
        return float(result)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _counts_what(count: Callable[..., Any]) -> CountsWhat:
    """Tell what a function counts, or refuse to guess."""
    parameter = _first_parameter(count)
    if parameter is not None:
        annotation = parameter.annotation
        written = (
            annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        )
        if written == "str" or parameter.name in _TEXT_NAMES:
            return "text"
        if "Entry" in written or parameter.name in _ENTRY_NAMES:
            return "entries"
    probe = "one two three"
    works = (_works(count, probe), _works(count, [InputEntry("user", probe)]))
    if works == (True, False):
        return "text"
    if works == (False, True):
        return "entries"
    if works == (False, False):
        _called(count, probe)  # raises what is wrong with it
    message = f"Cannot tell whether {_name(count)} counts a text or a list of entries."
    hint = "Annotate its parameter as str or list[TranscriptEntry], or say as_counter(f, over=...)."
    raise UserError(message, hint=hint)


def _first_parameter(count: Callable[..., Any]) -> inspect.Parameter | None:
    try:
        return next(iter(inspect.signature(count).parameters.values()), None)
    except (TypeError, ValueError):  # built in, without a signature
        return None


def _works(count: Callable[..., Any], argument: str | Sequence[TranscriptEntry]) -> bool:
    try:
        _called(count, argument)
    except LoviaError:
        return False
    return True


def _name(thing: object) -> str:
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    return str(name) if name else f"of type {type(thing).__name__}"


_numbers: Final = itertools.count(1)
_known: Final[dict[int, tuple[weakref.ref[Any], int]]] = {}


def _key(owner: object) -> str:
    """Return a key that belongs to one object for as long as the process lives.

    An address alone would not do: it is given to another object when this one is gone. A bound
    method is a new object each time it is looked up, so its object and name stand for it.
    """
    bound_to = getattr(owner, "__self__", None)
    if inspect.ismethod(owner) and bound_to is not None:
        return f"{_key(bound_to)}.{owner.__name__}"
    known = _known.get(id(owner))
    if known is not None and known[0]() is owner:
        return f"custom:{known[1]}"
    number = next(_numbers)
    with suppress(TypeError):  # cannot be referred to weakly: a second adapter will count anew
        _known[id(owner)] = (weakref.ref(owner, _Forget(id(owner))), number)
    return f"custom:{number}"


class _Forget:
    """Drops the key of an object that is gone."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __call__(self, reference: weakref.ref[Any]) -> None:
        known = _known.get(self._address)
        if known is not None and known[0] is reference:
            del _known[self._address]
