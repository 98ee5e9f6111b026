"""Policies known by their shape alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lovia_otel.observe import Predicate, Wrapper

WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = ()
