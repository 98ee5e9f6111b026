"""Watching an object from inside: a twin of it, whose class is a subclass made for it.

A stand-in sees what is called from outside. The objects of frameworks call themselves (to write a
summary, say), hand themselves on, and are told apart by their class; their twin is one of them in
every respect, shares all state with the original, and sees each call of the methods it replaces.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, ParamSpec, TypeVar

from lovia_otel import providers
from lovia_otel.guard import drop

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")

Method = Callable[..., Any]
Wrap = Callable[[Method], Method]  # from a class's own method to the one that watches it


class Watch:
    """How objects of one kind are watched. It makes their twins, one class for each class."""

    methods: ClassVar[tuple[str, ...]] = ()
    """Names of methods that are replaced; ``watch_NAME(inner)`` makes the replacement."""

    base: ClassVar[str] = ""
    """Name of the framework's base class, whose own methods do nothing: frameworks ask which of
    them a class has overridden, so that these must stay as they are."""

    def __init__(self) -> None:
        self._classes: dict[type, type] = {}

    def attributes(self) -> Mapping[str, property]:
        """Return attributes that read otherwise on the twin than on the original."""
        return {}

    def twin(self, subject: Any) -> Any:
        """Return the twin of ``subject``: an instance of a subclass, with the very same state."""
        kind = type(subject)
        made = self._classes.get(kind)
        if made is None:
            made = self._classes[kind] = types.new_class(
                kind.__name__, (kind,), {}, lambda space: space.update(self._members(kind))
            )
        twin: Any = object.__new__(made)
        object.__setattr__(twin, "__dict__", vars(subject))
        object.__setattr__(twin, "__wrapped__", subject)  # alive as long as the twin
        return twin

    def _members(self, kind: type) -> dict[str, Any]:
        members: dict[str, Any] = {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
            "__slots__": ("__wrapped__",),
            "__lovia_observed__": True,
            **self.attributes(),
        }
        for name in self.methods:
            inner = getattr(kind, name, None)
            if callable(inner) and self._owner(kind, name) != self.base:
                wrap: Wrap = getattr(self, f"watch_{name}")
                members[name] = functools.wraps(inner)(wrap(inner))
        if hasattr(kind, "__del__"):
            members["__del__"] = _leave_to_the_original
        return members

    def _owner(self, kind: type, name: str) -> str:
        """Return the name of the class that defines a method of ``kind``."""
        return next((a.__name__ for a in kind.__mro__ if name in vars(a)), "")


def _leave_to_the_original(twin: Any) -> None:
    """Free nothing: the original goes when its twin does, and frees what they share."""


def listening() -> bool:
    """Is anybody there for whom it is worth finding out what a policy does?"""
    return providers.recording()


def quietly(default: D) -> Callable[[Callable[P, T]], Callable[P, T | D]]:
    """Make a function that looks at somebody else's objects safe: where it fails, ``default``."""

    def decorate(function: Callable[P, T]) -> Callable[P, T | D]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T | D:
            try:
                return function(*args, **kwargs)
            except Exception:  # noqa: BLE001 - objects of any version of any framework
                drop(function.__qualname__)
                return default

        return call

    return decorate


def ancestry(subject: object) -> Iterable[tuple[str, str]]:
    """Yield the top package and the name of each class of ``subject``, without importing any."""
    for kind in type(subject).__mro__:
        yield kind.__module__.partition(".")[0], kind.__name__
