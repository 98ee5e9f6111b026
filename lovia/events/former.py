"""Events by the names that they had in earlier releases."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lovia.events.context import ContextCompacted

__all__ = ["FORMER_NAMES", "former_event"]

#: What an event was called, and what it is called now.
FORMER_NAMES = {"ArchiveEvent": "ContextCompacted"}


def former_event(name: str, module: str) -> type[ContextCompacted]:
    """Return the event that had this name, with a ``DeprecationWarning``.

    Args:
        name: The name that a module was asked for.
        module: The module.

    Raises:
        AttributeError: No event had that name.
    """
    if name not in FORMER_NAMES:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    from lovia.events.context import ContextCompacted

    message = f"{name} is now called {FORMER_NAMES[name]}."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return ContextCompacted
