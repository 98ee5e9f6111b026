"""Replacing methods of classes, and putting every one of them back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Make = Callable[[Callable[..., Any]], Callable[..., Any]]  # from the method to its replacement


class Patches:
    """The methods that are replaced. A method is replaced once, however often that is asked for."""

    def __init__(self) -> None:
        self._originals: dict[tuple[type, str], Any] = {}
        self._lock = threading.Lock()

    def method(self, owner: type, name: str, make: Make) -> None:
        """Replace a method of a class, where it has one and its class can be written to.

        A static method stays one. An inherited method is replaced where it is defined, so that
        ``super()`` does not meet the replacement twice.
        """
        defined = next((kind for kind in owner.__mro__ if name in vars(kind)), None)
        if defined is None:
            return
        with self._lock:
            original = vars(defined)[name]
            if (defined, name) in self._originals:
                return
            static = isinstance(original, staticmethod)
            function = original.__func__ if static else original
            if not callable(function):
                return
            replacement = make(function)
            try:
                setattr(defined, name, staticmethod(replacement) if static else replacement)
            except (
                TypeError
            ):  # a class that is written in C, or that does not let itself be changed
                return
            self._originals[defined, name] = original

    def undo(self) -> None:
        """Put every method back, the very object that it was."""
        with self._lock:
            for (owner, name), original in reversed(self._originals.items()):
                setattr(owner, name, original)
            self._originals.clear()
