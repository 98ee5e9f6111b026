"""``observe(x)``: the drop-in wrapper for policies that this project did not write.

Who knows how to wrap what registers it here: a predicate that recognises an object by its shape or
by its class's name, never by importing the framework it comes from, and a wrapper.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from lovia_otel._proxy import is_stand_in
from lovia_otel.errors import UnobservableError

T = TypeVar("T")

Counter = Callable[[Any], int]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What the caller of :func:`observe` said about the policy.

    ``name`` is what telemetry calls it (``None``: its class's or function's name). ``counter``
    returns the tokens of a list of messages or entries (``None``: the policy's own counter where
    it has one, else an estimate from bytes). ``window_tokens`` is what the model takes.
    """

    name: str | None = None
    counter: Counter | None = None
    window_tokens: int | None = None
    agent: str | None = None

    def name_of(self, subject: object) -> str:
        """Return what telemetry calls ``subject``."""
        function = getattr(subject, "func", subject)  # what a functools.partial is of
        named = self.name or getattr(function, "__name__", None)
        return named if isinstance(named, str) else type(subject).__name__


Predicate = Callable[[object], bool]
Wrapper = Callable[[Any, Observation], Any]


class _Registry:
    """The known kinds of policies; those that were registered last are asked first."""

    def __init__(self) -> None:
        self._known: list[tuple[Predicate, Wrapper]] = []
        self._loaded = False
        self._lock = threading.RLock()

    def add(self, predicate: Predicate, wrapper: Wrapper) -> None:
        with self._lock:
            self._load()
            self._known.insert(0, (predicate, wrapper))

    def find(self, subject: object) -> Wrapper | None:
        with self._lock:
            self._load()
            known = tuple(self._known)
        return next((wrap for recognises, wrap in known if recognises(subject)), None)

    def _load(self) -> None:
        """Load the wrappers of this package, the most general first, when first needed."""
        if self._loaded:
            return
        self._loaded = True
        from lovia_otel import foreign

        for name in foreign.MODULES:
            module = import_module(f"{foreign.__name__}.{name}")
            for predicate, wrapper in module.WRAPPERS:
                self._known.insert(0, (predicate, wrapper))


_registry = _Registry()


def register(predicate: Predicate, wrapper: Wrapper) -> None:
    """Teach :func:`observe` a further kind of policy; it is asked before those known so far.

    ``predicate(x)`` says whether ``x`` is one, and must not raise. ``wrapper(x, observation)``
    returns what stands in for it.
    """
    _registry.add(predicate, wrapper)


def observe(
    subject: T,
    *,
    name: str | None = None,
    counter: Counter | None = None,
    window_tokens: int | None = None,
    agent: str | None = None,
) -> T:
    """Return ``subject`` with each of its compactions as a span, metrics and an event.

    It takes context policies with ``apply()`` or ``compact()``, plain callables on lists of
    messages, and the compaction of frameworks: see the list in ``docs/observe.md``. Results and
    exceptions are those of the policy itself; ``isinstance`` and attributes still work. What is
    observed already, or records itself, comes back as it is.

    Args:
        subject: the policy.
        name: what telemetry calls it; by default its class's or function's name.
        counter: returns the tokens of a list of messages; by default the policy's own counter
            where it has one, else an estimate from bytes.
        window_tokens: the model's context window, where the policy does not know it.
        agent: the agent's name, where the policy is not told it.

    Raises:
        UnobservableError: ``subject`` is of no kind that can be observed.
    """
    if is_stand_in(subject) or getattr(subject, "__lovia_observed__", False):
        return subject
    wrap = _registry.find(subject)
    if wrap is None:
        raise UnobservableError(
            f"{type(subject).__name__} is no context policy that can be observed",
            hint="give observe() an object with apply() or compact(), a callable that takes a "
            "list of messages, or register() a wrapper for it",
        )
    said = Observation(name=name, counter=counter, window_tokens=window_tokens, agent=agent)
    observed: T = wrap(subject, said)
    return observed
